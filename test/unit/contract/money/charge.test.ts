import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  affordableTokens,
  chargeUnits,
  type ModelRates,
  promptTokens,
  type RateSet,
  rateSetFor,
  resolveRateSet,
  type TokenUsage,
  worstCaseUnits,
} from '../../../../contract/money/charge.ts'
import { MAX_UNITS } from '../../../../contract/money/units.ts'

const CLASSES = ['input', 'cachedInput', 'cacheWrite5m', 'cacheWrite1h', 'output'] as const

// Usual sizes and the extremes, where sums leave the exact range of doubles.
const size = (max: number) =>
  fc.oneof(fc.nat(1_000), fc.nat(Math.min(max, 200_000)), fc.integer({ min: 0, max }), fc.constant(max))
const rateSet = fc.record({
  input: size(1e12),
  output: size(1e12),
  cachedInput: size(1e12),
  cacheWrite5m: size(1e12),
  cacheWrite1h: size(1e12),
})
const usages: fc.Arbitrary<TokenUsage> = fc.record({
  input: size(1e9),
  cachedInput: size(1e9),
  cacheWrite5m: size(1e9),
  cacheWrite1h: size(1e9),
  output: size(1e9),
  reasoning: size(1e9),
})
const modelRates: fc.Arbitrary<ModelRates> = fc
  .tuple(rateSet, rateSet, fc.oneof(fc.constant(0), fc.nat(300_000)))
  .map(([base, long, longThreshold]) => ({ ...base, longThreshold, long }))

function exactCharge(set: RateSet, usage: TokenUsage): bigint {
  const sum = CLASSES.reduce((total, name) => total + BigInt(usage[name]) * BigInt(set[name]), 0n)
  const units = sum / 1_000_000n + (sum % 1_000_000n > 0n ? 1n : 0n)
  return units > BigInt(MAX_UNITS) ? BigInt(MAX_UNITS) : units
}

test('the charge is the exact sum over all classes, divided once and rounded up', () => {
  fc.assert(
    fc.property(modelRates, usages, (rates, usage) => {
      const isLong = rates.longThreshold > 0 && promptTokens(usage) > rates.longThreshold
      assert.equal(BigInt(chargeUnits(rates, usage)), exactCharge(isLong ? rates.long : rates, usage))
    }),
    { numRuns: 2_000 },
  )
})

test('more tokens never cost less within a set of rates', () => {
  fc.assert(
    fc.property(rateSet, usages, fc.constantFrom(...CLASSES), fc.nat(1_000), (set, usage, name, more) => {
      const rates = { ...set, longThreshold: 0, long: set }
      assert.ok(chargeUnits(rates, { ...usage, [name]: usage[name] + more }) >= chargeUnits(rates, usage))
    }),
  )
})

test('known charges', () => {
  const set = resolveRateSet({ input: 150_000_000, output: 600_000_000, cachedInput: 75_000_000 })
  const rates = { ...set, longThreshold: 0, long: set }
  const usage = { input: 1_000, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 500, reasoning: 400 }
  assert.equal(chargeUnits(rates, usage), 450_000)
  assert.equal(chargeUnits(rates, { ...usage, input: 0, output: 0 }), 0)
  assert.equal(chargeUnits({ ...rates, input: 1 }, { ...usage, input: 1, output: 0 }), 1)
})

test('the long-context rates apply above the threshold, for the whole request', () => {
  const base = resolveRateSet({ input: 1_000_000, output: 1_000_000 })
  const long = resolveRateSet({ input: 2_000_000, output: 3_000_000 })
  const rates = { ...base, longThreshold: 100, long }
  assert.equal(rateSetFor(rates, 100), rates)
  assert.equal(rateSetFor(rates, 101), long)
  const usage = { input: 60, cachedInput: 40, cacheWrite5m: 0, cacheWrite1h: 0, output: 10, reasoning: 0 }
  assert.equal(chargeUnits(rates, usage), 110)
  assert.equal(chargeUnits(rates, { ...usage, cachedInput: 41 }), 232)
})

test('token classes without a price of their own are charged as input', () => {
  assert.deepEqual(resolveRateSet({ input: 5, output: 7, cacheWrite5m: null, cachedInput: 0 }), {
    input: 5,
    output: 7,
    cachedInput: 0,
    cacheWrite5m: 5,
    cacheWrite1h: 5,
  })
})

test('the worst case of a prompt and an output is exact', () => {
  fc.assert(
    fc.property(size(1e9), size(1e12), size(1e9), size(1e12), (prompt, promptPrice, output, outputPrice) => {
      const usage = { input: prompt, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output, reasoning: 0 }
      const set = resolveRateSet({ input: promptPrice, output: outputPrice })
      assert.equal(BigInt(worstCaseUnits(prompt, promptPrice, output, outputPrice)), exactCharge(set, usage))
    }),
    { numRuns: 1_000 },
  )
})

test('affordable tokens are covered, and one more is not', () => {
  fc.assert(
    fc.property(
      size(MAX_UNITS),
      size(1e9),
      size(1e12),
      fc.integer({ min: 1, max: 1e12 }),
      (units, prompt, promptPrice, outputPrice) => {
        const tokens = BigInt(affordableTokens(units, prompt, promptPrice, outputPrice))
        const budget = BigInt(units) * 1_000_000n
        const cost = (count: bigint) => BigInt(prompt) * BigInt(promptPrice) + count * BigInt(outputPrice)
        if (cost(0n) > budget) {
          assert.equal(tokens, 0n)
          return
        }
        assert.ok(cost(tokens) <= budget)
        assert.ok(tokens === BigInt(MAX_UNITS) || cost(tokens + 1n) > budget)
      },
    ),
    { numRuns: 1_000 },
  )
})
