// Goal: the index is what the basket costs by the sheet in force, in hundredths of its base costs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RateSet } from '../../../../contract/money/charge.ts'
import type { Basket } from '../../../../control/statistics/basket.ts'
import { quotient } from '../../../../control/statistics/decimal.ts'
import { PriceIndex } from '../../../../control/statistics/priceIndex.ts'
import { present } from '../../../support/present.ts'

const rates = (input: number, output: number): RateSet => {
  return { input, output, cachedInput: input, cacheWrite5m: input, cacheWrite1h: input }
}
const tokens = (input: number, output: number) => ({
  input,
  cached_input: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output,
})

const BASKET: Basket = {
  baseDay: 99,
  items: [
    { model: 'a', tokens: tokens(3, 1) },
    { model: 'b', tokens: tokens(10, 0) },
  ],
}

test('prices at the end of the base day are 100; a removed model keeps its last price', () => {
  const index = new PriceIndex(BASKET)
  index.add({ version: 1, day: 80, rates: new Map([['a', rates(1, 1)]]) })
  index.add({
    version: 2,
    day: 95,
    rates: new Map([
      ['a', rates(10, 20)],
      ['b', rates(5, 0)],
      ['c', rates(1, 1)],
    ]),
  })
  // Base: 3 * 10 + 20 + 10 * 5 = 100.
  assert.equal(index.valueOn(98), undefined)
  assert.deepEqual(index.valueOn(99), { value: '100', version: 2 })
  index.add({
    version: 3,
    day: 101,
    rates: new Map([
      ['a', rates(10, 20)],
      ['b', rates(4, 0)],
    ]),
  })
  index.add({ version: 4, day: 101, rates: new Map([['b', rates(3, 0)]]) })
  index.add({ version: 5, day: 103, rates: new Map([['a', rates(1, 1)]]) })
  assert.deepEqual(index.valueOn(100), { value: '100', version: 2 })
  assert.deepEqual(index.valueOn(101), { value: '80', version: 4 })
  assert.deepEqual([index.leftOn('a'), index.leftOn('b')], [undefined, 103])
  assert.deepEqual(index.valueOn(200), { value: '34', version: 5 })
  assert.deepEqual(
    BASKET.items.map((item) => index.shareOf(item)),
    ['0.5', '0.5'],
  )
  assert.deepEqual(index.basePriceOf('a'), rates(10, 20))
})

test('the index equals the quotient of the sums for any prices', () => {
  const price = fc.integer({ min: 1, max: 1_000_000_000 })
  const amount = fc.integer({ min: 1, max: 2 ** 50 })
  fc.assert(
    fc.property(fc.array(fc.tuple(amount, price, price), { minLength: 1, maxLength: 8 }), (models) => {
      const items = models.map(([input], i) => ({ model: `m${i}`, tokens: tokens(input, 0) }))
      const index = new PriceIndex({ ...BASKET, items })
      index.add({ version: 1, day: 99, rates: new Map(models.map(([, base], i) => [`m${i}`, rates(base, 0)])) })
      index.add({ version: 2, day: 100, rates: new Map(models.map(([, , now], i) => [`m${i}`, rates(now, 0)])) })
      const sum = (place: 1 | 2) => models.reduce((all, model) => all + BigInt(model[0]) * BigInt(model[place]), 0n)
      assert.equal(present(index.valueOn(100)).value, quotient(sum(2) * 100n, sum(1), 4))
    }),
  )
})
