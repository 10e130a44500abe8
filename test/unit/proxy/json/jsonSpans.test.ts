// Goal: the parts of a JSON text are found without parsing it, and nothing is taken for JSON that is not closed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arraySpans, objectSpans, spanBytes, spanValue } from '../../../../proxy/json/jsonSpans.ts'

const DEPTH = 64

test('the members of an object equal those of a parser', () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }))
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      const parsed = JSON.parse(text) as Record<string, unknown>
      const bytes = Buffer.from(` ${text}\n`)
      const spans = objectSpans(bytes, DEPTH)
      assert.ok(spans !== null)
      assert.deepEqual([...spans.keys()].sort(), Object.keys(parsed).sort())
      for (const [name, span] of spans) assert.deepEqual(spanValue(bytes, span), parsed[name])
    }),
  )
})

test('the elements of an array equal those of a parser', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.nat(3), (value, max) => {
      const bytes = Buffer.from(JSON.stringify(value))
      const elements = arraySpans(bytes, DEPTH)?.map((span) => JSON.parse(spanBytes(bytes, span).toString()))
      assert.deepEqual(elements, JSON.parse(JSON.stringify(value)))
      if (max > 0) assert.equal(arraySpans(bytes, DEPTH, undefined, max)?.length, Math.min(max, value.length))
    }),
  )
})

test('a truncated text is not an object', () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1 })
  fc.assert(
    fc.property(value, fc.nat(), (object, cut) => {
      const bytes = Buffer.from(JSON.stringify(object))
      assert.equal(objectSpans(bytes.subarray(0, cut % bytes.length), DEPTH), null)
    }),
  )
})

test('text that is not JSON neither throws nor hangs', () => {
  const piece = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '1', 'null', ' ', '\\"', '-', 'e9')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const bytes = Buffer.from(pieces.join(''))
      const spans = objectSpans(bytes, DEPTH)
      arraySpans(bytes, DEPTH)
      let valid = true
      try {
        JSON.parse(bytes.toString())
      } catch {
        valid = false
      }
      if (valid && bytes.toString().trim().startsWith('{')) assert.ok(spans !== null)
    }),
    { numRuns: 2_000 },
  )
})

const REFUSED = [
  '',
  '[]',
  '{"a":1}x',
  '{"a":1,}',
  '{"a" 1}',
  '{a:1}',
  '{"a":[1}',
  '{"a":{]}',
  '{"a":tru}',
  '{"a":01}',
  '{"a":--1}',
]
for (const text of REFUSED) {
  test(`${JSON.stringify(text)} is not an object`, () => assert.equal(objectSpans(Buffer.from(text), DEPTH), null))
}

test('depth is bounded', () => {
  const nested = (depth: number) => Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`)
  assert.ok(objectSpans(nested(10), 10) !== null)
  assert.equal(objectSpans(nested(11), 10), null)
})
