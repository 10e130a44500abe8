import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chargeUnits, type ModelRates, type TokenUsage } from '../../../../contract/money/charge.ts'
import { MAX_UNITS } from '../../../../contract/money/units.ts'
import { grantedOutputTokens, holdRates, promptTokensMax, sizeHold } from '../../../../proxy/admission/holdSize.ts'

const price = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 1_000 }),
  fc.integer({ min: 0, max: 1_000_000_000_000 }),
)
const rateSet = fc.record({ input: price, output: price, cachedInput: price, cacheWrite5m: price, cacheWrite1h: price })
const rates: fc.Arbitrary<ModelRates> = fc
  .tuple(rateSet, rateSet, fc.constantFrom(0, 100, 200_000))
  .map(([base, long, longThreshold]) => ({ ...base, long: longThreshold > 0 ? long : base, longThreshold }))
const tokens = fc.oneof(fc.nat(100), fc.nat(2_000_000))

test('a hold is the exact worst case, rounded up once', () => {
  fc.assert(
    fc.property(rates, tokens, tokens, (model, promptTokens, outputTokens) => {
      const size = sizeHold(holdRates(model, promptTokens, false), promptTokens, outputTokens, false)
      const set = model.longThreshold > 0 && promptTokens > model.longThreshold ? model.long : model
      const dearest = [set.input, set.cachedInput, set.cacheWrite5m, set.cacheWrite1h].map(BigInt)
      const input = dearest.reduce((most, one) => (one > most ? one : most))
      const exact = (BigInt(promptTokens) * input + BigInt(outputTokens) * BigInt(set.output) + 999_999n) / 1_000_000n
      assert.equal(BigInt(size.wantUnits), exact > BigInt(MAX_UNITS) ? BigInt(MAX_UNITS) : exact)
      assert.equal(size.leastUnits, size.wantUnits)
    }),
    { numRuns: 2_000 },
  )
})

test('no usage within the held tokens costs more than the hold, when tiers do not fall with length', () => {
  const share = fc.array(fc.nat(1_000), { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(rateSet, tokens, tokens, share, (base, promptTokens, outputTokens, parts) => {
      const model: ModelRates = { ...base, longThreshold: 0, long: base }
      const total = parts.reduce((sum, part) => sum + part, 0) || 1
      const [cachedInput = 0, cacheWrite5m = 0, cacheWrite1h = 0] = parts.map((part) =>
        Math.floor((promptTokens * part) / total),
      )
      const input = promptTokens - cachedInput - cacheWrite5m - cacheWrite1h
      const usage: TokenUsage = { input, cachedInput, cacheWrite5m, cacheWrite1h, output: outputTokens, reasoning: 0 }
      const size = sizeHold(model, promptTokens, outputTokens, false)
      assert.ok(chargeUnits(model, usage) <= size.wantUnits)
    }),
    { numRuns: 2_000 },
  )
})

test('with images, no usage within the held tokens costs more than the hold on either side of the threshold', () => {
  fc.assert(
    fc.property(rates, tokens, tokens, fc.nat(1_000), (model, promptTokens, outputTokens, part) => {
      const size = sizeHold(holdRates(model, promptTokens, true), promptTokens, outputTokens, false)
      const usage: TokenUsage = {
        ...zeroUsage(),
        input: Math.floor((promptTokens * part) / 1_000),
        output: outputTokens,
      }
      const set = (long: boolean): ModelRates => ({
        ...(long ? model.long : model),
        longThreshold: 0,
        long: model.long,
      })
      for (const long of [false, model.longThreshold > 0]) assert.ok(chargeUnits(set(long), usage) <= size.wantUnits)
    }),
    { numRuns: 2_000 },
  )
})

test('a shrunk hold pays for the output that it grants, and not for one token more', () => {
  fc.assert(
    fc.property(
      rateSet,
      fc.nat(10_000),
      fc.integer({ min: 1, max: 50_000 }),
      fc.nat(1_000_000),
      (base, prompt, output, cut) => {
        const model: ModelRates = { ...base, longThreshold: 0, long: base }
        const size = sizeHold(model, prompt, output, true)
        const held = size.leastUnits + (cut % (size.wantUnits - size.leastUnits + 1))
        const granted = grantedOutputTokens(size, held)
        assert.ok(granted >= 1 && granted <= output)
        assert.ok(sizeHold(model, prompt, granted, false).wantUnits <= held)
        if (granted < output) assert.ok(sizeHold(model, prompt, granted + 1, false).wantUnits > held)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('prompts are counted according to the contract', () => {
  const flat: ModelRates = { ...zeroRates(), longThreshold: 0, long: zeroRates() }
  const tiered: ModelRates = { ...flat, longThreshold: 100 }
  assert.equal(promptTokensMax({ textBytes: 101, messages: 2, images: 0 }, flat, 1500), 51 + 16 + 16)
  assert.equal(promptTokensMax({ textBytes: 101, messages: 2, images: 0 }, tiered, 1500), 101 + 16 + 16)
  assert.equal(promptTokensMax({ textBytes: 0, messages: 1, images: 3 }, flat, 1500), 8 + 16 + 4500)
  assert.equal(promptTokensMax({ textBytes: 0, messages: 1, images: 0, pdfs: 2 }, flat, 0, 0, 9_000), 8 + 16 + 9_000)
  assert.equal(promptTokensMax({ textBytes: 0, messages: 1, images: 0 }, flat, 0, 0, 9_000), 8 + 16)
  assert.equal(promptTokensMax({ textBytes: 10, messages: 1, images: 0, optionBytes: 11 }, flat, 0), 11 + 8 + 16)
  assert.equal(promptTokensMax({ textBytes: 10, messages: 1, images: 0, optionBytes: 11 }, tiered, 0), 21 + 8 + 16)
})

function zeroUsage(): TokenUsage {
  return { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 }
}

function zeroRates() {
  return { input: 0, output: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0 }
}
