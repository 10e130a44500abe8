// Goal: amounts are shown exactly. Method: examples, and random units through text and back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { grouped, permille, shownDecimal, shownUsd, sumUnits, usdOf } from '../../../../console/format/money.ts'
import { formatUsdWide } from '../../../../contract/money/units.ts'

test('an amount has two digits after the point, or as many as it needs', () => {
  const shown = ['0', '1234567.5', '0.000000001', '-12.340', '5.00', 'none'].map((text) => shownUsd(text))
  assert.deepEqual(shown, ['$0.00', '$1,234,567.50', '$0.000000001', '-$12.34', '$5.00', '$none'])
  assert.equal(shownDecimal('1500', 0), '1,500')
  assert.equal(grouped(1_234_567), '1,234,567')
  assert.equal(grouped('-1000'), '-1,000')
})

test('units are written as the gateway writes them', () => {
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 20n), 10n ** 20n), (units) => {
      assert.equal(usdOf(units), formatUsdWide(units))
    }),
  )
})

test('sums are exact beyond what a number holds', () => {
  assert.equal(sumUnits(['9007199254740993', '9007199254740993']), 18_014_398_509_481_986n)
})

test('a share is rounded down and lies from 0 to 1,000', () => {
  assert.deepEqual(
    [permille(1n, 3n), permille(3n, 3n), permille(4n, 3n), permille(1n, 0n), permille(-1n, 3n)],
    [333, 1_000, 1_000, 0, 0],
  )
})
