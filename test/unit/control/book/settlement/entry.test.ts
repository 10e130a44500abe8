import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { compareStreamIds, parseStreamId } from '../../../../../contract/wire/streamId.ts'
import { parseHold } from '../../../../../control/admission/holdRecord.ts'
import { windowsAt } from '../../../../../control/admission/windows.ts'
import { isCausedByContent } from '../../../../../control/book/settlement/bookBatch.ts'
import { parseEntry } from '../../../../../control/book/settlement/entry.ts'
import { textArray } from '../../../../../control/runtime/db/arrays.ts'

function entry(changes: Partial<sluice.ISettlement>, fields: Record<string, string> = {}) {
  const settlement = sluice.Settlement.encode({
    requestId: 'req_1',
    accountId: 'acct_1',
    keyId: 'key_1',
    status: sluice.Status.OK,
    holdUnits: 100,
    ...changes,
  }).finish()
  const named = Object.entries({ c: '70', t: '5', s: 'grt_1=30,coin=40', ...fields })
  const values = [Buffer.from('e'), Buffer.from(settlement), ...named.flat().map((text) => Buffer.from(text))]
  return parseEntry({ shard: 3, id: '5-0', fields: values })
}

test('an entry is read with the parts of its charge', () => {
  const parsed = entry({})
  assert.equal(parsed.kind, 'ended')
  if (parsed.kind !== 'ended') return
  assert.deepEqual(parsed.parts, [
    { ledgerAccount: 'grant:grt_1', units: 30 },
    { ledgerAccount: 'coin:acct_1', units: 40 },
  ])
  assert.equal(parsed.receipt.chargeUnits, 70)
  assert.equal(parsed.receipt.voided, false)
})

test('a receipt has the rates that its request was charged by, and an orphan none', () => {
  const ratesOf = (parsed: ReturnType<typeof entry>) =>
    parsed.kind === 'ended' ? [parsed.receipt.rate, parsed.receipt.tier] : 'reason' in parsed && parsed.reason
  assert.deepEqual(ratesOf(entry({})), ['standard', 'standard'])
  assert.deepEqual(ratesOf(entry({ rate: sluice.Rate.BATCH_RATE })), ['batch', 'standard'])
  assert.deepEqual(ratesOf(entry({ tier: sluice.Tier.PRIVATE_TIER })), ['standard', 'private'])
  assert.deepEqual(ratesOf(entry({ status: sluice.Status.ORPHANED }, { c: '-1', s: '' })), ['', ''])
  assert.match(String(ratesOf(entry({ rate: 9 as sluice.Rate }))), /rate is unknown: 9/)
})

test('amounts up to 2^53 are read exactly', () => {
  const most = Number.MAX_SAFE_INTEGER
  const parsed = entry({ holdUnits: most }, { c: String(most), s: `coin=${most}` })
  assert.equal(parsed.kind === 'ended' && parsed.receipt.chargeUnits, most)
  assert.equal(parsed.kind === 'ended' && parsed.receipt.holdUnits, most)
})

test('what does not fit together is malformed, with the reason', () => {
  const reasons: [ReturnType<typeof entry>, RegExp][] = [
    [entry({ requestId: '' }), /request_id is empty/],
    [entry({ model: 'a\nb' }), /control characters/],
    [entry({ model: 'm'.repeat(300) }), /longer than/],
    [entry({ status: 77 as sluice.Status }), /status is unknown/],
    [entry({ status: sluice.Status.STATUS_UNSET }), /status is unknown/],
    [entry({ holdUnits: 60 }), /charged 70 of 60 held/],
    [entry({}, { s: 'coin=69' }), /split is 69/],
    [entry({}, { s: 'coin' }), /not an amount/],
    [entry({}, { c: '-2', s: '' }), /not an amount/],
    [entry({}, { c: '1e3', s: '' }), /not an amount/],
    [entry({}, { c: '-1' }), /split is 70/],
    [parseEntry({ shard: 0, id: '1-0', fields: [] }), /no settlement/],
  ]
  for (const [parsed, reason] of reasons) {
    assert.equal(parsed.kind, 'malformed')
    if (parsed.kind === 'malformed') assert.match(parsed.reason, reason)
  }
})

test('no bytes make reading throw', () => {
  const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array))
  const name = fc.constantFrom('e', 'c', 't', 's', 'x', 'a', '').map((text) => Buffer.from(text))
  fc.assert(
    fc.property(fc.array(fc.oneof(name, bytes), { maxLength: 12 }), (fields) => {
      assert.ok(['ended', 'expired', 'malformed'].includes(parseEntry({ shard: 0, id: '1-0', fields }).kind))
    }),
    { numRuns: 500 },
  )
})

test('stream ids are ordered by both of their parts', () => {
  const order = (a: string, b: string) => Math.sign(compareStreamIds(parseStreamId(a), parseStreamId(b)))
  assert.equal(order('9-0', '10-0'), -1)
  assert.equal(order('10-2', '10-10'), -1)
  assert.equal(order('10-2', '10-2'), 0)
  assert.equal(order('11-0', '10-99'), 1)
})

test('a hold is read back with its parts and what its receipt needs', () => {
  const text = '100|1700000000000|acct_1|key_1|472222|19675|646|60|grt_1=25,grt_2=15|acme/chat-small,chat,7,1'
  const hold = parseHold(5, 'own_1', 'req_1', text)
  assert.deepEqual(
    [hold?.holdUnits, hold?.coinUnits, hold?.model, hold?.endpoint, hold?.sheetVersion, hold?.streamed],
    [100, 60, 'acme/chat-small', 'chat', 7, true],
  )
  assert.deepEqual(hold?.grants, [
    { grantId: 'grt_1', units: 25 },
    { grantId: 'grt_2', units: 15 },
  ])
  assert.equal(parseHold(5, 'own_1', 'req_1', 'rubbish'), undefined)
})

test('windows are those of hold.lua', () => {
  // 2024-02-29T23:59:59Z
  const windows = windowsAt(1_709_251_199_000)
  assert.deepEqual([windows.hour, windows.day, windows.month], [474_791, 19_782, 54 * 12 + 1])
  assert.equal(windows.dayFirstHour, 19_782 * 24)
  assert.equal(windows.monthFirstHour * 3_600_000, Date.UTC(2024, 1, 1))
})

test('only errors of the content reject an entry', () => {
  assert.ok(isCausedByContent({ code: '22021' }))
  assert.ok(isCausedByContent({ code: '23514', constraint: 'charge_within_hold' }))
  assert.ok(!isCausedByContent({ code: '23505', constraint: 'receipts_position_key' }))
  assert.ok(!isCausedByContent({ code: '40P01' }))
  assert.ok(!isCausedByContent({ code: '57P01' }))
  assert.ok(!isCausedByContent({ code: 'ECONNREFUSED' }))
  assert.ok(!isCausedByContent(new Error('Connection terminated')))
})

test('array texts keep every character', () => {
  assert.equal(textArray(['a', 'b"c', 'd\\e', '', 'NULL', '{,}']), '{"a","b\\"c","d\\\\e","","NULL","{,}"}')
})
