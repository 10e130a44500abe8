import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endingText, leaseText, openingText, parseRecord } from '../../../../../proxy/admission/journal/records.ts'

const LEASE = { shard: 7, field: 'L:key_1:498718', accountId: 'acc_1', keys: 'key_1/key_0' }

test('an opening is read as it was written, for any model name', () => {
  const holdMeta = 'maker/model|with, signs,chat,3,1'
  const text = openingText(leaseText(LEASE), 'req_1', 'grt_1=5,coin=7', 1_700_000_000_123, holdMeta)
  assert.deepEqual(parseRecord(text), {
    kind: 'opening',
    ...LEASE,
    requestId: 'req_1',
    split: 'grt_1=5,coin=7',
    heldAtMs: 1_700_000_000_123,
    holdMeta,
  })
})

test('an ending is read as it was written, with every byte of its settlement', () => {
  const settlement = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join('')
  for (const voided of [true, false]) {
    const ending = { requestId: 'req_1', seq: 12, voided, heldAtMs: 5, split: '', settlement }
    assert.deepEqual(parseRecord(endingText(leaseText(LEASE), ending)), { kind: 'ending', ...LEASE, ...ending })
  }
})

test('a text that is not a record is ignored', () => {
  for (const text of ['', 'X', 'O', 'E1|2|3', 'O7|a|b|c|d|e']) assert.equal(parseRecord(text), undefined, text)
})
