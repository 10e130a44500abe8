// Goal: what is counted costs exactly its price, rounded up once, and is counted as people count.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quantityUnits, type UnitRates } from '../../../../contract/money/unitRates.ts'
import { MAX_UNITS } from '../../../../contract/money/units.ts'
import { chooseSize } from '../../../../proxy/endpoints/modalities/imageRequest.ts'
import { codePoints } from '../../../../proxy/endpoints/modalities/speech.ts'
import { limits } from '../../../support/limits.ts'

const rates = (priceUnits: number, per: number, sizes: [string, number][] = []): UnitRates => ({
  priceUnits,
  per,
  sizes: new Map(sizes),
})

test('a quantity costs its product with the price, rounded up, exactly', () => {
  const amount = fc.oneof(fc.nat(1_000), fc.nat(), fc.integer({ min: 0, max: MAX_UNITS }))
  fc.assert(
    fc.property(amount, amount, fc.constantFrom(1, 1_000_000), (quantity, price, per) => {
      const exact = BigInt(quantity) * BigInt(price)
      const rounded = exact / BigInt(per) + (exact % BigInt(per) === 0n ? 0n : 1n)
      const units = quantityUnits(rates(price, per), quantity)
      assert.equal(BigInt(units), rounded > BigInt(MAX_UNITS) ? BigInt(MAX_UNITS) : rounded)
    }),
  )
})

test('a larger quantity never costs less', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(1_000), fc.nat(), (quantity, more, price) => {
      const sheet = rates(price, 1_000_000)
      assert.ok(quantityUnits(sheet, quantity + more) >= quantityUnits(sheet, quantity))
    }),
  )
})

test('a size with its own price is charged at it', () => {
  const sheet = rates(10, 1, [['1024x1024', 40]])
  assert.deepEqual([quantityUnits(sheet, 3, '1024x1024'), quantityUnits(sheet, 3, '512x512')], [120, 30])
})

test('characters are code points', () => {
  assert.deepEqual(['', 'abc', 'ä', '👍', '👨‍👩‍👧', '\ud83d', 'a\udc4d'].map(codePoints), [0, 3, 1, 1, 5, 1, 2])
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => assert.equal(codePoints(text), [...text].length)))
})

test('if sizes have prices, a request must name one of them', () => {
  const sheet = rates(1, 1, [
    ['1536x1024', 3],
    ['512x512', 2],
  ])
  assert.equal(chooseSize(null, sheet, limits), '512x512')
  assert.equal(chooseSize(null, rates(1, 1, [...sheet.sizes, ['1024x1024', 1]]), limits), '1024x1024')
  assert.equal(chooseSize('1536x1024', sheet, limits), '1536x1024')
  assert.throws(() => chooseSize('1024x1024', sheet, limits), { code: 'invalid_size' })
})

test('if the model lists no sizes, both sides must be within bounds', () => {
  const sheet = rates(1, 1)
  assert.deepEqual(
    ['256x256', '8192x16'].map((size) => chooseSize(size, sheet, limits)),
    ['256x256', '8192x16'],
  )
  assert.equal(chooseSize(null, sheet, limits), '')
  for (const size of ['', 'big', '0x0', '15x100', '8193x100', '256X256', '256x', '256x256x256', '-1x5', '1e3x1e3']) {
    assert.throws(() => chooseSize(size, sheet, limits), { code: 'invalid_size' }, size)
  }
})
