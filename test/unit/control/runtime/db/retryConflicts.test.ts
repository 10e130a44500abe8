import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryConflicts } from '../../../../../control/runtime/db/retryConflicts.ts'

/** A transaction that fails with these codes in turn, and then succeeds; and how often it was run. */
function failing(codes: readonly string[]) {
  let runs = 0
  const run = async () => {
    const code = codes[runs++]
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    return 'done'
  }
  return { run, runs: () => runs }
}

test('a transaction that was rolled back for another one is repeated, and at last gives up', async () => {
  const [twice, forever] = [failing(['40P01', '40001']), failing(Array.from({ length: 9 }, () => '40P01'))]
  assert.equal(await retryConflicts(3, twice.run), 'done')
  await assert.rejects(retryConflicts(3, forever.run), { code: '40P01' })
  assert.equal(forever.runs(), 3)
})

test('other failures are not repeated', async () => {
  const broken = failing(['23514'])
  await assert.rejects(retryConflicts(3, broken.run), { code: '23514' })
  assert.equal(broken.runs(), 1)
})
