// Goal: objects with long numbers are printed as they were read, everything else as JSON.stringify prints it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactJson, exactObject, exactTexts, isRounded } from '../../../../proxy/json/exactJson.ts'

const LONG = '12345678901234567890'
const TEXTS = [
  `{"a":${LONG}}`,
  `{"a":-${LONG},"b":[${LONG},{"c":1e400}]}`,
  `{ "a" : 0.12345678901234567890 }`,
  `{"a":"${LONG}","b":${LONG}}`,
  `{"a":"\\"${LONG}","b":true,"c":${LONG}.5e-3}`,
]

test('texts with long numbers are printed as they are, wherever they stand', () => {
  const objects = TEXTS.map(exactObject)
  assert.equal(exactJson(objects), `[${TEXTS.join()}]`)
  assert.equal(
    exactJson({ deep: { one: objects[0], same: objects[0] } }),
    `{"deep":{"one":${TEXTS[0]},"same":${TEXTS[0]}}}`,
  )
})

test('elsewhere they are printed as any object, and read as one', () => {
  for (const text of TEXTS) {
    const read = exactObject(text)
    assert.equal(JSON.stringify(read), JSON.stringify(JSON.parse(text)))
    assert.deepEqual(read, JSON.parse(text))
  }
})

test('what is no object, and a member of the name toJSON', () => {
  for (const text of ['[1]', `${LONG}`, `{"a":${LONG}`, '']) assert.equal(exactObject(text), null)
  const named = `{"toJSON":${LONG}}`
  assert.equal(exactJson(exactObject(named)), JSON.stringify(JSON.parse(named)))
})

test('other JSON is printed as JSON.stringify prints it', () => {
  const json = fc.json().map((text) => `{"a":${text}}`)
  fc.assert(
    fc.property(json, (text) => {
      const printed = exactJson(exactObject(text))
      assert.deepEqual(JSON.parse(printed), JSON.parse(text))
    }),
  )
  assert.equal(exactJson('@@0:1'), '"@@0:1"')
})

test('the texts of objects in JSON', () => {
  const json = Buffer.from(`{"id":"${LONG}","list":[${TEXTS.join()},7]}`)
  const texts = exactTexts(json, ({ list }) => list as unknown[])
  assert.deepEqual(texts, [...TEXTS.map((text) => text.replaceAll(' ', '')), undefined])
  assert.deepEqual(
    exactTexts(Buffer.from('{"list":["'), () => [1]),
    [undefined],
  )
})

test('what may have lost digits', () => {
  assert.deepEqual([[{ a: [2 ** 53] }], [2 ** 53 - 1], 'x', null, { a: { b: -1e30 } }].map(isRounded), [
    true,
    false,
    false,
    false,
    true,
  ])
})
