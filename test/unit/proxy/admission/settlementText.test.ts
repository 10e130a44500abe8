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

/** What the generated code makes of the same fields. */
function encoded({ usage, quantity, unit, ...fields }: SettlementFields): Buffer {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning } = usage
  const counts = { input, cachedInput, cacheWrite_5m: cacheWrite5m, cacheWrite_1h: cacheWrite1h, output, reasoning }
  return Buffer.from(sluice.Settlement.encode({ ...fields, usage: { ...counts, quantity, unit } }).finish())
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
