// Goal: JSON of any text is JSON of well-formed text afterwards, of the same length and with nothing else changed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mendSurrogates } from '../../../../contract/std/wellFormed.ts'

/** A surrogate that is no half of a pair. */
const LONE = /\p{Surrogate}/u

const half = fc.constantFrom('\ud83d', '\ude00', '\udbff', '\udfff', '\ud800', '\udc00', '\ud7ff', '\ue000')
const piece = fc.oneof(half, fc.constantFrom('\\', '\\u', 'd83d', '\\ud83d', '"', '😀', 'u', '한', 'ü'), fc.string())
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))

/** JSON with every character beyond ASCII as an escape. */
function escaped(value: string, isUpper: boolean): string {
  return JSON.stringify(value).replace(/[^\t\n -~]/g, (c) => {
    const digits = c.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${isUpper ? digits.toUpperCase() : digits}`
  })
}

test('any text', () => {
  fc.assert(
    fc.property(text, fc.constantFrom('as it is', 'lower', 'upper'), (value, way) => {
      const sent = way === 'as it is' ? JSON.stringify(value) : escaped(value, way === 'upper')
      const json = Buffer.from(sent)
      mendSurrogates(json)
      assert.equal(JSON.parse(json.toString()), value.replaceAll(new RegExp(LONE, 'gu'), '\ufffd'))
      assert.equal(json.length, Buffer.byteLength(sent))
      if (!LONE.test(value)) assert.equal(json.toString(), sent)
    }),
    { numRuns: 5_000 },
  )
})

test('halves of both cases are a pair', () => {
  const json = Buffer.from('"\\ud83D\\uDE00 \\uD83d\\ude00 \\uD83d \\uDe00"')
  mendSurrogates(json)
  assert.equal(json.toString(), '"\\ud83D\\uDE00 \\uD83d\\ude00 \\ufffd \\ufffd"')
})

test('bytes that end in an escape', () => {
  for (const sent of ['\\', '\\u', '\\ud', '\\ud8', '"\\ud83d']) mendSurrogates(Buffer.from(sent))
})
