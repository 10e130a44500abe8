// Goal: a schema of any client is one that the Messages format takes, or is left to words. The oracle is the transformation in
// the format's own package, for the members that both know.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'
import fc from 'fast-check'
import { isJsonObject, type JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { answerSchema } from '../../../../../proxy/dialects/anthropic/answerSchema.ts'

type Oracle = (schema: object) => JsonObject
const oracle = transformJSONSchema as unknown as Oracle
const name = fc.constantFrom('a', 'b', 'c')
const count = fc.nat(5)

/** Schemas that the format can express, with members that it does not take. */
const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.record(
      { type: fc.constantFrom('number', 'integer'), minimum: count, multipleOf: count, description: fc.string() },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constant('string'),
        format: fc.constantFrom('email', 'date', 'regex'),
        minLength: count,
        pattern: fc.constantFrom('^a"\\d$', 'x'),
        title: fc.string(),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      { type: fc.constant('array'), items: tie('schema'), minItems: count, maxItems: count, uniqueItems: fc.boolean() },
      { requiredKeys: ['type', 'items'] },
    ),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(name, tie('schema'), { maxKeys: 3 }),
        required: fc.subarray(['a', 'b']),
        additionalProperties: fc.boolean(),
        minProperties: count,
      },
      { requiredKeys: ['type', 'properties'] },
    ),
    ...['anyOf', 'oneOf', 'allOf'].map((kind) =>
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((list): JsonObject => ({ [kind]: list })),
    ),
  ) as fc.Arbitrary<JsonObject>,
}))

/** With the hints of descriptions in no order. */
const unordered = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, one: unknown) =>
    key === 'description' && typeof one === 'string' ? [...one].sort().join('') : one,
  )

test('any schema that the format can express', () => {
  fc.assert(
    fc.property(schema, (made) => {
      const [sent, before] = [structuredClone(made), structuredClone(made)]
      const taken = answerSchema(sent)
      assert.deepEqual(unordered(taken), unordered(oracle(sent)))
      assert.deepEqual(sent, before)
      assert.deepEqual(answerSchema(taken), taken)
    }),
    { numRuns: 2_000 },
  )
})

const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})
const TREE = { $ref: '#/$defs/node', $defs: { node: object({ next: { $ref: '#/$defs/node' } }) } }

const AS_SENT: readonly (readonly [title: string, schema: JsonObject])[] = [
  ['a closed object', object({ a: { type: 'string' } }, { required: ['a'] })],
  ['words and numbers to choose from', { type: 'string', enum: ['a', 'b'], default: 'a' }],
  ['a constant', { const: 1 }],
  ['a text or nothing', { type: ['string', 'null'] }],
  [
    'definitions',
    { ...object({ a: { $ref: '#/$defs/b' } }), $defs: { b: { type: 'string' }, c: { $ref: '#/$defs/b' } } },
  ],
  [
    'definitions of older drafts',
    { ...object({ a: { $ref: '#/definitions/b' } }), definitions: { b: { type: 'null' } } },
  ],
  ['a member with the name of a keyword', object({ properties: { type: 'string' }, items: { type: 'string' } })],
]

for (const [title, sent] of AS_SENT) {
  test(`is sent as it is: ${title}`, () => assert.deepEqual(answerSchema(sent), sent))
}

test('members about the schema itself are left out', () => {
  const sent = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x', $comment: 'y', type: 'string' }
  assert.deepEqual(answerSchema(sent), { type: 'string' })
})

const LEFT_TO_WORDS: readonly (readonly [title: string, schema: unknown])[] = [
  ['any value', {}],
  ['true', true],
  ['no schema', undefined],
  ['a description alone', { description: 'an answer' }],
  ['any object', { type: 'object' }],
  ['an open object without members', { type: 'object', additionalProperties: true }],
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
  ['a map in a member', object({ a: { type: 'object', properties: {}, additionalProperties: { type: 'null' } } })],
  ['a list of places', { type: 'array', items: [{ type: 'string' }] }],
  ['objects to choose from', { enum: [{ a: 1 }] }],
  ['itself', { type: 'array', items: { $ref: '#' } }],
  ['a tree', TREE],
  ['a reference to elsewhere', { $ref: 'https://a.example/b.json' }],
  ['a reference to nothing', { $ref: '#/$defs/a' }],
  ['both kinds of choices', { anyOf: [{ type: 'null' }], oneOf: [{ type: 'null' }] }],
  ['no choices', { anyOf: [] }],
  ['a reference among all', { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { type: 'null' } } }],
]

for (const [title, sent] of LEFT_TO_WORDS) {
  test(`is left to words: ${title}`, () => assert.equal(answerSchema(sent), null))
}

test('references are followed once each, however many lead to them', () => {
  const both = (to: number) =>
    object({ a: { $ref: `#/$defs/d${to}` }, b: { $ref: `#/$defs/d${to}` } }, { required: ['a', 'b'] })
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`d${i}`, i === 59 ? { type: 'null' } : both(i + 1)]),
  )
  const taken = answerSchema({ ...both(0), $defs })
  assert.ok(isJsonObject(taken))
  assert.deepEqual(taken['$defs'], $defs)
})
