import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { printedMembers } from '../../../../../proxy/dialects/openai/printedMembers.ts'

const text = fc.string({ unit: 'binary', maxLength: 40 })
const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined)) as fc.Arbitrary<unknown>
const plain = fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text })
const message = fc.oneof(
  { weight: 3, arbitrary: plain },
  fc.record({ role: fc.constant('assistant'), content: value, tool_calls: value }),
  fc.record({ role: fc.constant('tool'), tool_call_id: text, content: text }),
  fc.record({ role: value, content: value }),
)
const body = fc.tuple(
  fc.array(message, { maxLength: 4 }),
  fc.dictionary(text, value, { maxKeys: 4, noNullPrototype: true }),
)

test('property: short and long bodies are printed as the serializer prints them', () => {
  fc.assert(
    fc.property(body, fc.constantFrom(0, 1_024, 1_025), ([messages, options], textBytes) => {
      for (const whole of [{ messages, ...options }, { ...options, messages }, options]) {
        const printed = JSON.stringify(whole)
        assert.equal(`{${printedMembers(whole, textBytes)}`, printed)
      }
    }),
    { numRuns: 2_000 },
  )
})
