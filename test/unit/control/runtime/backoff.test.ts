import assert from 'node:assert/strict'
import test from 'node:test'
import { backoffMs } from '../../../../control/runtime/backoff.ts'

test('the wait doubles with every attempt up to its maximum', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 1_000_000].map((attempts) => backoffMs(attempts, 100, 1_000)),
    [100, 100, 200, 400, 800, 1_000, 1_000],
  )
})
