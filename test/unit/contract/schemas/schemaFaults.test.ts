// Goal: the schemas of this project are valid, because programs compile them without a check by the meta-schema.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSchema, compileSchema, readSchema } from '../../../../contract/schemas/schemaFaults.ts'

test('every schema is one by the meta-schema of JSON Schema', () => {
  for (const name of ['catalog', 'payments', 'environment'] as const) assertSchema(readSchema(name))
  assert.throws(
    () => assertSchema({ type: 'object', properties: { a: { type: 'no such type' } } }),
    /schema is invalid/,
  )
})

test('a schema is compiled at the first value, and refuses keywords that it does not know', () => {
  const check = compileSchema({ type: 'object', properties: { a: { type: 'integer', default: 1 } } })
  const value = {}
  assert.deepEqual([check(value), value], [[], { a: 1 }])
  assert.equal(check({ a: 'x' }).length, 1)
  const unknown = compileSchema({ type: 'object', requires: ['a'] })
  assert.throws(() => unknown({}), /unknown keyword/)
})
