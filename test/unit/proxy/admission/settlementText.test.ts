import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import {
  type SettlementFields,
  settlementBytes,
  settlementOf,
  settlementText,
} from '../../../../proxy/admission/settlementText.ts'
import { RECEIPT_FIELDS } from '../../../support/receiptFields.ts'

/** What the generated code makes of the same fields. */
function encoded({ usage, quantity, unit, tagging, ...fields }: SettlementFields): Buffer {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning } = usage
  const counts = { input, cachedInput, cacheWrite_5m: cacheWrite5m, cacheWrite_1h: cacheWrite1h, output, reasoning }
  const { user: endUser = '', tags = '', salt: tagsSalt = '' } = tagging ?? {}
  const tagged = { endUser, tags, tagsSalt }
  return Buffer.from(sluice.Settlement.encode({ ...fields, ...tagged, usage: { ...counts, quantity, unit } }).finish())
}

// Around every place where a number takes one byte more, and where doubles are no whole numbers any more.
const units = fc.oneof(
  fc.nat({ max: 300 }),
  fc.integer({ min: 0, max: 52 }).map((bits) => 2 ** bits),
  fc.integer({ min: 1, max: 53 }).map((bits) => 2 ** bits - 1),
  fc.maxSafeNat(),
)
const small = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 2 ** 31 - 1 }))
const id = fc.string({ unit: 'grapheme-ascii', maxLength: 300 })

const fields: fc.Arbitrary<SettlementFields> = fc.record({
  requestId: id,
  accountId: id,
  keyId: id,
  model: id,
  endpoint: id,
  provider: id,
  errorCode: id,
  unit: id,
  size: id,
  attestation: id,
  sheetVersion: small,
  firstByteMs: small,
  durationMs: small,
  tries: small,
  holdUnits: units,
  chargeUnits: units,
  startedAtMs: units,
  quantity: units,
  streamed: fc.boolean(),
  clamped: fc.boolean(),
  status: fc.constantFrom(sluice.Status.OK, sluice.Status.PARTIAL, sluice.Status.FAILED, sluice.Status.CUT),
  usageSource: fc.constantFrom(sluice.UsageSource.NONE, sluice.UsageSource.REPORTED, sluice.UsageSource.ESTIMATED),
  rate: fc.constantFrom(sluice.Rate.STANDARD_RATE, sluice.Rate.BATCH_RATE),
  tier: fc.constantFrom(sluice.Tier.STANDARD_TIER, sluice.Tier.PRIVATE_TIER),
  tagging: fc.option(fc.record({ user: id, tags: id, salt: id }), { nil: undefined }),
  usage: fc.record({
    input: units,
    cachedInput: units,
    cacheWrite5m: units,
    cacheWrite1h: units,
    output: units,
    reasoning: units,
  }),
})

test('a settlement is encoded byte for byte like the generated code', () => {
  fc.assert(
    fc.property(fields, (some) => {
      const text = settlementText(some)
      assert.deepEqual(settlementBytes(text), encoded(some))
      assert.equal(settlementOf(encoded(some)), text)
    }),
    { numRuns: 2_000 },
  )
})

/** No field has the value that is left out of a message. */
const FULL: SettlementFields = {
  requestId: 'req_1',
  accountId: 'acct_1',
  keyId: 'key_1',
  model: 'test/small',
  endpoint: 'images',
  provider: 'acme',
  sheetVersion: 2,
  status: sluice.Status.PARTIAL,
  errorCode: 'client_gone',
  streamed: true,
  holdUnits: 3,
  chargeUnits: 4,
  usage: { input: 5, cachedInput: 6, cacheWrite5m: 7, cacheWrite1h: 8, output: 9, reasoning: 10 },
  quantity: 11,
  unit: 'image',
  usageSource: sluice.UsageSource.ESTIMATED,
  clamped: true,
  startedAtMs: 12,
  firstByteMs: 13,
  durationMs: 14,
  tries: 17,
  rate: sluice.Rate.BATCH_RATE,
  tier: sluice.Tier.PRIVATE_TIER,
  size: '256x256',
  attestation: 'att_1',
  lock: { seriesId: 'lock_1', units: 15, micros: 16 },
  tagging: { user: 'alice', tags: 'team=search', salt: 'salt' },
}

test('a settlement has every field that receipts are read from', () => {
  const decoded = sluice.Settlement.decode(settlementBytes(settlementText(FULL)))
  const missing = RECEIPT_FIELDS.filter(({ proto }) => {
    const path = proto?.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()).split('.')
    return path !== undefined && !path.reduce((value, name) => Object(value)[name], Object(decoded))
  })
  assert.deepEqual(missing, [])
})
