// Goal: a price of a list is the decimal that was written, whatever its form, or no price at all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactText, parseExact } from '../../../../../control/catalog/priceLists/exactDecimal.ts'

const shown = (value: unknown, shift = 0) => {
  const amount = parseExact(value, shift)
  return amount === undefined ? undefined : exactText(amount)
}

test('prices per token become prices per million, to the last digit', () => {
  assert.equal(shown('0.00000015', 6), '0.15')
  assert.equal(shown('0.000000123456789012', 6), '0.123456789012')
  assert.equal(shown('1.5e-7', 6), '0.15')
  assert.equal(shown('2E+3'), '2000')
  assert.equal(shown('0', 6), '0')
  assert.equal(shown('15', 6), '15000000')
})

test('numbers are read exactly, as long as a double has their digits', () => {
  assert.equal(shown(JSON.parse('0.1')), '0.1')
  assert.equal(shown(JSON.parse('1e-7'), 6), '0.1')
  assert.equal(shown(JSON.parse('0.00000123456789012345'), 6), '1.23456789012345')
  assert.equal(shown(JSON.parse('0.1234567890123456')), undefined)
})

test('texts and values of other kinds are not prices', () => {
  for (const value of [
    '-1',
    -1,
    '',
    ' 1',
    '1 ',
    '.5',
    '1.',
    '1e',
    'NaN',
    'Infinity',
    '0x10',
    '1,5',
    null,
    true,
    {},
    [],
  ]) {
    assert.equal(parseExact(value, 6), undefined, JSON.stringify(value))
  }
  // Too large, too long, and finer than is kept.
  for (const value of ['1234567890123', `0.${'1'.repeat(31)}`, '1e-99', '1e999', Number.NaN, 1e300]) {
    assert.equal(parseExact(value, 0), undefined, String(value))
  }
})

test('any decimal round-trips, and can be shifted', () => {
  const decimal = fc.tuple(
    fc.bigInt(0n, 999_999_999_999n),
    fc.bigInt(0n, 10n ** 24n - 1n),
    fc.integer({ min: 0, max: 6 }),
  )
  fc.assert(
    fc.property(decimal, ([whole, fraction, shift]) => {
      const text = `${whole}.${fraction.toString().padStart(24, '0')}`
      const digits = `${whole}${fraction.toString().padStart(24, '0')}`
      const point = String(whole).length + shift
      const moved = `${digits.slice(0, point)}.${digits.slice(point)}`
        .replace(/0+$/, '')
        .replace(/\.$/, '')
        .replace(/^0+(?=\d)/, '')
      assert.equal(shown(text, shift), moved)
    }),
  )
})

test('differences are exact and carry their sign', () => {
  const [low, high] = [parseExact('0.1', 0) ?? 0n, parseExact('0.300000000000001', 0) ?? 0n]
  assert.equal(exactText(high - low), '0.200000000000001')
  assert.equal(exactText(low - high), '-0.200000000000001')
})
