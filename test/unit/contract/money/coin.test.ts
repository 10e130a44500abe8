import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { coinBoughtFor, coinDecimal, coinFor, nanosBoughtFor, valueOfCoin } from '../../../../contract/money/coin.ts'
import { MAX_UNITS, UNITS_PER_USD } from '../../../../contract/money/units.ts'
import { anyAmount, anyCoinPrice, exactCoin, exactValue } from '../../../support/samples/coinAmounts.ts'

const RUNS = { numRuns: 20_000 }

test('the value of coin is the exact quotient, rounded down', () => {
  fc.assert(
    fc.property(anyAmount, anyCoinPrice, (nanos, price) => {
      assert.equal(valueOfCoin(nanos, price), exactValue(nanos, price))
    }),
    RUNS,
  )
})

test('the coin for an amount is the least that covers it', () => {
  fc.assert(
    fc.property(anyAmount, anyCoinPrice, (units, price) => {
      const exact = exactCoin(units, price)
      if (exact === undefined) assert.throws(() => coinFor(units, price), RangeError)
      else assert.equal(coinFor(units, price), exact)
    }),
    RUNS,
  )
})

test('the coin that an amount buys is the exact quotient, rounded down', () => {
  fc.assert(
    fc.property(anyAmount, anyCoinPrice, (units, price) => {
      if (exactCoin(units, price) === undefined) return
      assert.equal(BigInt(coinBoughtFor(units, price)), nanosBoughtFor(BigInt(units), price))
    }),
    RUNS,
  )
})

test('sums buy coin exactly on both sides of what a number can hold', () => {
  const most = BigInt(MAX_UNITS)
  for (const units of [most - 1n, most, most + 1n, 1_000n * most + 7n]) {
    assert.equal(nanosBoughtFor(units, UNITS_PER_USD), units)
    assert.equal(nanosBoughtFor(units, 1_000_000), units * 1_000n)
    assert.equal(nanosBoughtFor(units, 3_000_000_000), units / 3n)
  }
})

test('a charge never takes more coin than its hold', () => {
  fc.assert(
    fc.property(anyAmount, anyAmount, anyCoinPrice, (one, other, price) => {
      const [charge, hold] = [Math.min(one, other), Math.max(one, other)]
      if (exactCoin(hold, price) !== undefined) assert.ok(coinFor(charge, price) <= coinFor(hold, price))
    }),
    RUNS,
  )
})

test('at one US dollar a coin, units and nanos are equal', () => {
  for (const amount of [0, 1, 12_345, MAX_UNITS]) {
    assert.equal(valueOfCoin(amount, UNITS_PER_USD), amount)
    assert.equal(coinFor(amount, UNITS_PER_USD), amount)
    assert.equal(coinBoughtFor(amount, UNITS_PER_USD), amount)
  }
})

test('coin is shown with nine digits at most', () => {
  assert.equal(coinDecimal(17_500_000_000), '17.5')
  assert.equal(coinDecimal(-1), '-0.000000001')
})
