import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { formatCoin, formatUsd, MAX_UNITS, parseUsd, UNITS_PER_USD } from '../../../../contract/money/units.ts'

const amounts = fc.integer({ min: 0, max: MAX_UNITS })

test('known amounts are parsed exactly', () => {
  assert.equal(parseUsd('0'), 0)
  assert.equal(parseUsd('0.15'), 150_000_000)
  assert.equal(parseUsd('0.000000001'), 1)
  assert.equal(parseUsd('9007199.254740991'), MAX_UNITS)
})

test('amounts that are not plain decimals, too precise or too large are rejected', () => {
  const wrong = ['', '.', '1.', '.5', '00', '01', '-1', '+1', '1e3', ' 1', '1 ', '1,5', '0x1', 'NaN', 'Infinity', '1_0']
  for (const text of [...wrong, '0.0000000001', '9007199.254740992', '9999999999', '10000000000', '1\n', '１']) {
    assert.equal(parseUsd(text), undefined, JSON.stringify(text))
  }
})

test('formatting and parsing are inverse', () => {
  fc.assert(fc.property(amounts, (units) => parseUsd(formatUsd(units)) === units))
})

test('the text is the exact quotient', () => {
  fc.assert(
    fc.property(fc.integer({ min: -MAX_UNITS, max: MAX_UNITS }), (units) => {
      const text = formatUsd(units)
      assert.match(text, /^-?(0|[1-9]\d*)(\.\d{0,8}[1-9])?$/)
      const [whole = '', fraction = ''] = text.replace('-', '').split('.')
      const value = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
      assert.equal(text.startsWith('-') ? -value : value, BigInt(units))
    }),
  )
})

test('inexact amounts are not formatted', () => {
  for (const units of [0.5, MAX_UNITS + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => formatUsd(units), RangeError)
  }
})

test('coin is rounded up by less than its last digit', () => {
  fc.assert(
    fc.property(amounts, fc.integer({ min: 1, max: MAX_UNITS }), (units, price) => {
      const [whole = '', fraction = ''] = formatCoin(units, price).split('.')
      const coin = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
      const scaled = BigInt(units) * BigInt(UNITS_PER_USD)
      assert.ok(coin * BigInt(price) >= scaled)
      assert.ok((coin - 1n) * BigInt(price) < scaled)
    }),
  )
})

test('a coin of one dollar is dollars', () => {
  fc.assert(fc.property(amounts, (units) => formatCoin(units, UNITS_PER_USD) === formatUsd(units)))
})
