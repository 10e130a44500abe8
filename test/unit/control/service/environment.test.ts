import assert from 'node:assert/strict'
import test from 'node:test'
import { addressForLog, readEnvironment } from '../../../../control/service/environment.ts'
import { TEST_LOG_KEY, TEST_LOG_VERIFIER } from '../../../support/logKey.ts'
import { TestWitness } from '../../../support/testWitness.ts'

const BUS_KEY = '0a'.repeat(32)
const BASE = { DATABASE_URL: 'postgres://u@127.0.0.1/x', REDIS_URL: 'redis://127.0.0.1', SLUICE_BUS_KEY: BUS_KEY }

test('private addresses of providers are allowed only by 1, and an invalid value is reported', () => {
  const allowed = (value?: string) =>
    readEnvironment({ ...BASE, SLUICE_PRIVATE_PROVIDERS: value }).allowPrivateProviders
  assert.deepEqual([allowed(), allowed(''), allowed('0'), allowed('1')], [false, false, false, true])
  assert.throws(() => allowed('true'), /SLUICE_PRIVATE_PROVIDERS must be 1 or 0, not "true"/)
})

test('the bus key is 64 hex digits, or two such keys; the error for a wrong one does not contain it', () => {
  assert.deepEqual(readEnvironment(BASE).busKeys, [Buffer.from(BUS_KEY, 'hex')])
  assert.throws(
    () => readEnvironment({ ...BASE, SLUICE_BUS_KEY: '' }),
    /SLUICE_BUS_KEY is not set: .*openssl rand -hex 32/,
  )
  const other = '0b'.repeat(32)
  const two = readEnvironment({ ...BASE, SLUICE_BUS_KEY: `${other},${BUS_KEY}` }).busKeys
  assert.deepEqual(two, [Buffer.from(other, 'hex'), Buffer.from(BUS_KEY, 'hex')])
  assert.throws(() => readEnvironment({ ...BASE, SLUICE_BUS_KEY: `${BUS_KEY},` }), /or two such keys/)
  const wrong = `${BUS_KEY}ff`
  assert.throws(
    () => readEnvironment({ ...BASE, SLUICE_BUS_KEY: wrong }),
    ({ message }: Error) => /SLUICE_BUS_KEY must be 64 hex digits/.test(message) && !message.includes(wrong),
  )
})

test('the log key is a key for signed notes; the error for a wrong one does not contain it', () => {
  assert.equal(readEnvironment(BASE).logKey, undefined)
  assert.equal(readEnvironment({ ...BASE, SLUICE_LOG_KEY: TEST_LOG_KEY }).logKey?.verifier(), TEST_LOG_VERIFIER)
  const wrong = TEST_LOG_KEY.replace('test.', 'best.')
  assert.throws(
    () => readEnvironment({ ...BASE, SLUICE_LOG_KEY: wrong }),
    ({ message }: Error) => /^SLUICE_LOG_KEY does not hold: .*name/.test(message) && !message.includes('ATAQ'),
  )
})

test('witnesses are named by their verifier keys', () => {
  const names = (keys?: string) =>
    readEnvironment({ ...BASE, SLUICE_LOG_WITNESSES: keys }).logWitnesses?.map(({ name }) => name)
  const witnesses = ['a.example.com', 'b.example.com'].map((name) => new TestWitness(name))
  assert.deepEqual([names(), names('')], [[], []])
  assert.deepEqual(names(witnesses.map(({ verifier }) => verifier).join(',')), ['a.example.com', 'b.example.com'])
  // The key of a log is none of a witness.
  assert.throws(() => names(TEST_LOG_VERIFIER), /^Error: SLUICE_LOG_WITNESSES does not hold: test\.example\.com/)
})

test('addresses are logged without user, password and options', () => {
  for (const [url, logged] of [
    ['redis://127.0.0.1:6379', 'redis://127.0.0.1:6379'],
    ['postgres://user:secret@db:5432/sluice?sslmode=require', 'postgres://db:5432/sluice'],
    ['rediss+cluster://user:secret@h1:7000,h2:7001', 'rediss+cluster://h1:7000,h2:7001'],
    ['redis+sentinel://:secret@s1,s2/master/0?sentinel_password=secret', 'redis+sentinel://s1,s2/master/0'],
    ['secret', 'an address that is not a URL'],
  ]) {
    assert.equal(addressForLog(url ?? ''), logged)
  }
})
