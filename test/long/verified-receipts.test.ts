// Goal: the verifier agrees with control about 10,000 receipts of every kind, and rejects each of them with a byte changed in
// any of its values. The seed is in the message; SLUICE_FUZZ_SEED repeats it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyReceipts } from '../support/parts/verifyReceipts.ts'
import { newSeed } from '../support/samples/mutations.ts'

const RECEIPTS = 10_000
/** Values that every receipt has. */
const VALUES_MIN = 40

test('the verifier agrees with control about 10,000 receipts, and rejects them with a byte changed in any value', async () => {
  const seed = newSeed()
  assert.ok((await verifyReceipts({ receipts: RECEIPTS, seed })) > RECEIPTS * VALUES_MIN)
})
