// Goal: lists of any quality give the prices that they have, and nothing else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactText } from '../../../../../control/catalog/priceLists/exactDecimal.ts'
import { readPriceList } from '../../../../../control/catalog/priceLists/priceList.ts'
import { limits, limitsWith } from '../../../../support/limits.ts'

function read(list: unknown, most = limits, prefix = '') {
  const text = typeof list === 'string' ? list : JSON.stringify(list)
  return readPriceList(Buffer.from(text), prefix, most)?.map(({ id, price }) => ({
    id,
    price: Object.fromEntries([...price].map(([key, amount]) => [key, exactText(amount)])),
  }))
}

test('pricing by the token and prices in the units of the sheet are read', () => {
  const pricing = {
    prompt: '0.00000015',
    completion: '0.0000006',
    input_cache_read: '0.000000075',
    input_cache_write: '0.0000001875',
    image: '0.0002',
    request: '0',
  }
  assert.deepEqual(read({ data: [{ id: 'acme/small', name: 'Small', pricing }] }), [
    {
      id: 'acme/small',
      price: { input: '0.15', output: '0.6', cached_input: '0.075', cache_write_5m: '0.1875' },
    },
  ])
  assert.deepEqual(
    read({ models: [{ id: 'm', price: { input: '1', batch_input: '0.5', long_context: { input: '2' } } }] }),
    [{ id: 'm', price: { input: '1', batch_input: '0.5' } }],
  )
})

test('entries without a price or a name, and repeated ones, are dropped', () => {
  const pricing = { prompt: '0.000001' }
  const data = [
    null,
    'text',
    7,
    [],
    {},
    { id: 'without' },
    { id: 'null', pricing: null },
    { id: 'free', pricing: { prompt: '-1', completion: -1 } },
    { id: 'a b', pricing },
    { id: 'x'.repeat(201), pricing },
    { id: 5, pricing },
    { id: 'once', pricing },
    { id: 'once', pricing: { prompt: '9' } },
    { id: 'half', pricing: { prompt: 'much', completion: '0.000002' } },
  ]
  assert.deepEqual(read({ data }), [
    { id: 'once', price: { input: '1' } },
    { id: 'half', price: { output: '2' } },
  ])
})

test('a list of several providers is read by the prefix of one', () => {
  const pricing = { prompt: '0.000001' }
  const data = ['acme/one', 'other/one', 'acme/', 'acme/two', 'acme/one'].map((id) => ({ id, pricing }))
  assert.deepEqual(
    read({ data }, limits, 'acme/')?.map(({ id }) => id),
    ['one', 'two'],
  )
})

test('other responses are not lists of models', () => {
  for (const text of ['', 'no JSON', '{"data":', 'null', '[]', '7', '{}', '{"data":{}}', '{"data":"x"}', '\xff\xfe']) {
    assert.equal(read(text), undefined, text)
  }
  assert.deepEqual(read({ data: [] }), [])
})

test('a list is read up to its bound', () => {
  const data = Array.from({ length: 30 }, (_, i) => ({ id: `m${i}`, pricing: { prompt: '0.000001' } }))
  assert.equal(read({ data }, limitsWith({ observedModelsMax: 7 }))?.length, 7)
})

test('no JSON makes the reader fail', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (value, price) => {
      read({ data: [value, { id: 'm', pricing: value }, { id: 'n', price: { input: price, output: value } }] })
      read(value as object)
    }),
  )
})
