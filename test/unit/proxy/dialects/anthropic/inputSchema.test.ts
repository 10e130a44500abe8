// Goal: the parameters of any tool are an object without a union or a reference at the top, which the Messages format refuses,
// and every member that they name is still there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { inputSchema } from '../../../../../proxy/dialects/anthropic/inputSchema.ts'

const text = { type: 'string' }
const number = { type: 'number' }
const object = (properties: object, required?: readonly string[]) => ({
  type: 'object',
  properties,
  ...(required !== undefined && { required }),
})

const ROWS: readonly (readonly [title: string, sent: unknown, taken: JsonObject])[] = [
  ['none', undefined, object({})],
  ['null', null, object({})],
  ['an object', object({ a: text }, ['a']), object({ a: text }, ['a'])],
  ['no type', { properties: { a: text } }, object({ a: text })],
  ['null as the type', { type: null, properties: { a: text } }, object({ a: text })],
  ['a type among others', { type: ['object', 'null'], properties: { a: text } }, object({ a: text })],
  ['one of two', { anyOf: [object({ a: text }, ['a']), object({ b: text }, ['b'])] }, object({ a: text, b: text })],
  [
    'one of two that require the same',
    { oneOf: [object({ a: text, b: text }, ['a', 'b']), object({ a: text, c: text }, ['a'])], description: 'd' },
    { ...object({ a: text, b: text, c: text }, ['a']), description: 'd' },
  ],
  [
    'all of two',
    { allOf: [object({ a: text }, ['a']), { required: ['b'] }], ...object({ b: number }) },
    object({ b: number, a: text }, ['b', 'a']),
  ],
  [
    'a choice of requirements',
    { ...object({ a: text, b: text, c: text }, ['c']), anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    object({ a: text, b: text, c: text }, ['c']),
  ],
  [
    'members of one name that differ',
    { oneOf: [object({ kind: { const: 'a' } }, ['kind']), object({ kind: { const: 'b' } }, ['kind'])] },
    object({ kind: { anyOf: [{ const: 'a' }, { const: 'b' }] } }, ['kind']),
  ],
  [
    'a reference',
    { $ref: '#/$defs/a', $defs: { a: object({ x: text }, ['x']) } },
    { ...object({ x: text }, ['x']), $defs: { a: object({ x: text }, ['x']) } },
  ],
  ['a reference to nothing', { $ref: '#/$defs/a' }, object({})],
  ['a choice of nothing', { anyOf: [] }, object({})],
  ['a choice that is no list', { anyOf: 'x', properties: { a: text } }, object({ a: text })],
  [
    'a list by its places, in an older draft',
    object({ a: { type: 'array', items: [number, { ...number, minimum: 1, exclusiveMinimum: true }] } }),
    object({ a: { type: 'array', prefixItems: [number, { ...number, exclusiveMinimum: 1 }], items: {} } }),
  ],
  [
    'a list by its places and nothing more, in a union and a definition',
    object({ a: { anyOf: [{ items: [text], additionalItems: false }] }, b: { not: { items: [] } } }),
    object({ a: { anyOf: [{ prefixItems: [text], items: false }] }, b: { not: { items: {} } } }),
  ],
  [
    'limits that are said to be exclusive or not, in an older draft',
    object({ a: { maximum: 2, exclusiveMaximum: false }, b: { exclusiveMinimum: true }, c: { exclusiveMinimum: 3 } }),
    object({ a: { maximum: 2 }, b: {}, c: { exclusiveMinimum: 3 } }),
  ],
  [
    'values and members that only look so',
    object({ items: text, a: { enum: [{ items: [1], exclusiveMinimum: true }], default: { items: [1] } } }),
    object({ items: text, a: { enum: [{ items: [1], exclusiveMinimum: true }], default: { items: [1] } } }),
  ],
  ['a union below the top', object({ a: { anyOf: [text, number] } }), object({ a: { anyOf: [text, number] } })],
]

for (const [title, sent, taken] of ROWS) {
  test(`parameters: ${title}`, () => {
    const got = inputSchema(sent)
    const { required, ...rest } = got
    const { required: due, ...dueRest } = taken
    assert.deepEqual(rest, dueRest)
    assert.deepEqual([...((required ?? []) as string[])].sort(), [...((due ?? []) as string[])].sort())
  })
}

test('null in place of lists and maps says nothing', () => {
  const schema = { type: 'object', properties: null, required: null }
  assert.deepEqual(inputSchema(schema), { type: 'object' })
  assert.deepEqual(schema, { type: 'object', properties: null, required: null })
})

test('no member of any union is lost', () => {
  const names: fc.Arbitrary<string[]> = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 })
  const part = fc.tuple(names, names, fc.constantFrom(text, number)).map(([members, required, schema]) => ({
    properties: Object.fromEntries(members.map((name) => [name, schema])),
    required,
  }))
  const parts = fc.array(part, { maxLength: 3 })
  fc.assert(
    fc.property(part, parts, parts, parts, (own, anyOf, oneOf, allOf) => {
      const { properties, required, ...rest } = inputSchema({ ...own, anyOf, oneOf, allOf })
      assert.deepEqual(rest, { type: 'object' })
      const all = [own, ...anyOf, ...oneOf, ...allOf]
      const members = new Set(all.flatMap((one) => Object.keys(one.properties)))
      assert.deepEqual(new Set(Object.keys(properties as object)), members)
      const always = [own, ...allOf].flatMap((one) => one.required)
      assert.ok(always.every((name) => (required as string[]).includes(name)))
      for (const name of required as string[]) {
        const byAll = [anyOf, oneOf].some((list) => list.length > 0 && list.every((one) => one.required.includes(name)))
        assert.ok(always.includes(name) || byAll)
      }
    }),
    { numRuns: 1_000 },
  )
})
