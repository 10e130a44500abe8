import assert from 'node:assert/strict'
import test from 'node:test'
import { receiptJson } from '../../../contract/money/receipt.ts'
import { leafText, type ReceiptRow } from '../../../control/book/receipt/generated/receipt.ts'
import { receiptFields } from '../../../control/records/receipts/receiptRow.ts'
import { entryOf, layoutOf } from '../../../verifier/entry.ts'
import { readReceipt } from '../../../verifier/receipt.ts'
import { LEAF_LAYOUTS, RECEIPT_FIELDS } from '../../support/receiptFields.ts'
import { provedLog } from '../../support/samples/provedReceipt.ts'

/** No two fields have the same value, except for the flags. */
const ROW: ReceiptRow = {
  log: 7,
  position: 1,
  requestId: 'req_01M7XY94RCYS5DVS0Y0NXMF0CG',
  status: 'partial',
  model: 'test/small',
  endpoint: 'images',
  sheetVersion: 31,
  chargeUnits: 20_000,
  inputTokens: 11,
  cachedInputTokens: 12,
  cacheWrite5mTokens: 13,
  cacheWrite1hTokens: 14,
  outputTokens: 15,
  reasoningTokens: 16,
  quantity: 17,
  unit: 'image',
  usageSource: 'estimated',
  heldAtMs: 1_795_227_423_510,
  rate: 'batch',
  tier: 'private',
  size: '256x512',
  holdUnits: 30_000,
  clamped: true,
  streamed: false,
  durationMs: 9,
  firstByteMs: 8,
  tries: 2,
  errorCode: 'client_gone',
  lockSeries: 'lock_01M7XY94RCYS5DVS0Y0NXMF0CG',
  lockUnits: 18,
  lockMicros: 19,
  keyId: 'key_1',
  attestation: 'att_1',
  leafLayout: 4,
  tagsHash: 'ab'.repeat(32),
  endUser: 'alice',
  tags: 'team=search',
  tagsSalt: 'salt_1',
}

test('the verifier puts the entry of every layout together as the usage log does', () => {
  const leafValues = RECEIPT_FIELDS.filter(({ leaf }) => leaf).map(({ name }) => String(Object(ROW)[name]))
  assert.equal(new Set(leafValues).size, leafValues.length, 'a field has the value of another one')
  for (const leafLayout of LEAF_LAYOUTS) {
    // Layouts before the third have no burnt tokens, those before the fourth no tags.
    const unburnt = leafLayout < 3 && { lockSeries: '', lockUnits: 0, lockMicros: 0 }
    const untagged = leafLayout < 4 && { tagsHash: '', endUser: '', tags: '', tagsSalt: '' }
    const row = { ...ROW, leafLayout, ...unburnt, ...untagged }
    const entry = leafText(row)
    const shown = readReceipt(JSON.parse(receiptJson(receiptFields(row, 1_000_000_000, provedLog(entry).log))))
    assert.equal(entryOf(shown, layoutOf(entry)), entry)
  }
})
