// Goal: the verifier agrees with control about receipts of every kind, and rejects each of them with any byte changed.
// Method: random requests at random prices are booked by control's code; receipts, sheets, checkpoints and proofs are those
// that control answers with. The seed is in the message; SLUICE_FUZZ_SEED repeats it. test/long has more of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyReceipts } from '../../support/parts/verifyReceipts.ts'
import { newSeed } from '../../support/samples/mutations.ts'

const RECEIPTS = 600
const CHANGES = 8

test('the verifier agrees with control, and rejects receipts of which a byte was changed', async () => {
  const seed = newSeed()
  assert.equal(await verifyReceipts({ receipts: RECEIPTS, changes: CHANGES, seed }), RECEIPTS * CHANGES)
})
