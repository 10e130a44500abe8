import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkMaxPrice, readPreferences, refuseMaxPrice } from '../../../../../proxy/dialects/shared/preferences.ts'

const PRICES: [sent: unknown, units: number | null][] = [
  ['1.5', 1_500_000_000],
  [1.5, 1_500_000_000],
  [0, 0],
  ['0.000000001', 1],
  // JavaScript writes these with an exponent.
  [0.000000001, 1],
  [0.00000015, 150],
  [null, null],
]
for (const [sent, units] of PRICES) {
  test(`a price of ${JSON.stringify(sent)} is ${units} units`, () => {
    const read = readPreferences({ max_price: { prompt: sent, output: sent } })
    assert.deepEqual([read.maxInputPrice, read.maxOutputPrice, read.hasMaxPrice], [units, units, true])
  })
}

const REFUSED: [provider: unknown, param: string][] = [
  ['cheap', 'provider'],
  [[], 'provider'],
  [{ allow_retention: 'yes' }, 'provider.allow_retention'],
  [{ max_price: 5 }, 'provider.max_price'],
  [{ max_price: { prompt: '0.0000000001' } }, 'provider.max_price.prompt'],
  [{ max_price: { input: 1e-10 } }, 'provider.max_price.input'],
  [{ max_price: { completion: -1 } }, 'provider.max_price.completion'],
  [{ max_price: { completion: true } }, 'provider.max_price.completion'],
  [{ max_price: { output: 1e300 } }, 'provider.max_price.output'],
]
for (const [provider, param] of REFUSED) {
  test(`${JSON.stringify(provider)} is refused, with the field ${param}`, () => {
    assert.throws(() => readPreferences(provider), { status: 400, param })
  })
}

test('of two names of a price the first one that has a value counts', () => {
  assert.equal(readPreferences({ max_price: { prompt: '1', input: '2' } }).maxInputPrice, 1_000_000_000)
  assert.equal(readPreferences({ max_price: { prompt: null, input: '2' } }).maxInputPrice, 2_000_000_000)
})

test('a model is too dear above either price, and never without one', () => {
  const at = (prompt: string | null, completion: string | null) =>
    readPreferences({ max_price: { prompt, completion } })
  const rates = { input: 1_000_000_000, output: 2_000_000_000 }
  checkMaxPrice(at('1', '2'), rates, 'm')
  checkMaxPrice(at(null, null), rates, 'm')
  for (const [prompt, completion] of [
    ['0.999999999', '2'],
    ['1', '1.999999999'],
    [null, '0'],
  ] as const)
    assert.throws(() => checkMaxPrice(at(prompt, completion), rates, 'm'), { row: 'no_route_for_policy' })
})

test('where nothing is priced by the token, any max_price is refused, and its absence is not', () => {
  assert.throws(() => refuseMaxPrice(readPreferences({ max_price: {} })), { row: 'max_price_unsupported' })
  refuseMaxPrice(readPreferences({ max_price: null, allow_retention: true }))
  refuseMaxPrice(readPreferences(undefined))
})

const price = { prompt: '1', completion: '2' }

test('registered providers may serve unless the request says otherwise', () => {
  for (const given of [
    undefined,
    null,
    {},
    { allow_registered: null },
    { allow_registered: true },
    { max_price: price },
  ]) {
    assert.equal(readPreferences(given).allowRegistered, true)
  }
  for (const given of [
    { allow_registered: false },
    { allow_registered: false, allow_retention: true, max_price: price },
  ]) {
    assert.equal(readPreferences(given).allowRegistered, false)
  }
})

for (const name of ['allow_retention', 'allow_registered']) {
  test(`a preference ${name} that is neither true nor false is refused with its field`, () => {
    for (const value of ['false', 0, [], {}]) {
      assert.throws(() => readPreferences({ [name]: value }), { row: 'invalid_request', param: `provider.${name}` })
    }
  })
}
