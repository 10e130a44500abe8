// Goal: the fault of a tool's input names the member and what to change. Method: a schema with inputs that break one rule each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertInputSchema, compileInput, compileSchema } from '../../../../contract/tools/inputSchema.ts'
import { MCP_TOOLS } from '../../../../proxy/endpoints/mcp/toolList.ts'

const SCHEMA = {
  type: 'object',
  properties: { query: { type: 'string' }, depth: { type: 'string', enum: ['basic', 'advanced'] } },
  required: ['query'],
  additionalProperties: false,
}

test('the fault of an input names its member and the reason', () => {
  const check = compileSchema(SCHEMA)
  assert.equal(check({ query: 'x' }), null)
  assert.deepEqual(check({}), { param: 'query', reason: 'is missing' })
  assert.deepEqual(check({ query: 5 }), { param: 'query', reason: 'must be string' })
  assert.deepEqual(check({ query: 'x', more: 1 }), { param: 'more', reason: 'is not a member of it' })
  assert.deepEqual(check({ query: 'x', depth: 'deep' }), { param: 'depth', reason: 'must be one of: basic, advanced' })
})

test('the error of a priced tool has the reason', () => {
  const message = "query does not match the tool's input_schema: is missing; see /v1/tools."
  assert.throws(() => compileInput(SCHEMA)({}), { code: 'tool_input_invalid', message, param: 'query' })
})

test('a schema that is none is refused, and one with an unknown keyword', () => {
  assertInputSchema(SCHEMA)
  assert.throws(() => assertInputSchema({ type: 'object', properties: { a: { type: 'none' } } }), /schema is invalid/)
  assert.throws(() => assertInputSchema({ type: 'object', requires: ['a'] }), /unknown keyword/)
})

test('the schemas of the tools of the Model Context Protocol are valid, because they are compiled without a check', () => {
  for (const { inputSchema } of MCP_TOOLS) assertInputSchema(inputSchema)
})
