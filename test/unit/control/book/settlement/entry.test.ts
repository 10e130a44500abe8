import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { parseEntry } from '../../../../../control/book/settlement/entry.ts'

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
    { ledgerAccount: 'grant:grt_1', units: 30, amount: 30 },
    { ledgerAccount: 'coin:acct_1', units: 40, amount: 40 },
  ])
  assert.equal(parsed.receipt.chargeUnits, 70)
  assert.equal(parsed.receipt.voided, false)
})

test('coin whose nanos differ from its units is read with both', () => {
  const parsed = entry({}, { s: 'grt_1=30,coin=40:20' })
  assert.deepEqual(parsed.kind === 'ended' && parsed.parts[1], { ledgerAccount: 'coin:acct_1', units: 40, amount: 20 })
  for (const coin of ['40:', '40:0', '40:-1', ':20', '40:20:1', '40:x']) {
    assert.equal(entry({}, { s: `grt_1=30,coin=${coin}` }).kind, 'malformed', coin)
  }
})

test('a receipt has the rates that its request was charged by; the receipt of an orphan has no rates', () => {
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

test('inconsistent fields are malformed, with the reason', () => {
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
