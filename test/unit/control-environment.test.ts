import assert from 'node:assert/strict'
import test from 'node:test'
import { readEnvironment } from '../../control/service/environment.ts'

const BASE = { DATABASE_URL: 'postgres://u@127.0.0.1/x', REDIS_URL: 'redis://127.0.0.1' }

test('private addresses of providers are allowed by 1 alone, and a mistake is told', () => {
  const allowed = (value?: string) =>
    readEnvironment({ ...BASE, SLUICE_PRIVATE_PROVIDERS: value }).allowPrivateProviders
  assert.deepEqual([allowed(), allowed(''), allowed('0'), allowed('1')], [false, false, false, true])
  assert.throws(() => allowed('true'), /SLUICE_PRIVATE_PROVIDERS must be 1 or 0, not true/)
})
