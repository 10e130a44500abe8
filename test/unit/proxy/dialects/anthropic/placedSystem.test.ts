// Goal: whatever a client has said and in whichever order, instructions are only where the format takes them, and nothing that
// was said is lost or changes its place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { placedSystem } from '../../../../../proxy/dialects/anthropic/placedSystem.ts'

const message = fc
  .tuple(fc.constantFrom('user', 'assistant', 'system'), fc.string({ minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([role, text, isBlock]): JsonObject => ({ role, content: isBlock ? [{ type: 'text', text }] : text }))
const body = fc.record(
  { messages: fc.array(message, { minLength: 1, maxLength: 8 }), system: fc.string({ minLength: 1, maxLength: 4 }) },
  { requiredKeys: ['messages'] },
)
const textsOf = (content: unknown): unknown[] =>
  Array.isArray(content) ? content.map(({ text }: JsonObject) => text) : content === undefined ? [] : [content]
const saidIn = ({ system, messages }: JsonObject): unknown[] => [
  ...textsOf(system),
  ...(messages as JsonObject[]).flatMap(({ content }) => textsOf(content)),
]

test('instructions of any conversation', () => {
  fc.assert(
    fc.property(body, fc.boolean(), (sent, first) => {
      const placed = placedSystem(sent, first)
      const roles = (placed['messages'] as JsonObject[]).map(({ role }) => role)
      assert.ok(roles.length > 0)
      for (const [i, role] of roles.entries()) {
        if (role !== 'system') continue
        assert.ok(!first && roles[i - 1] === 'user' && (roles[i + 1] ?? 'assistant') === 'assistant')
      }
      assert.deepEqual(saidIn(placed), saidIn(sent))
      assert.deepEqual(placedSystem(placed, first), placed)
    }),
    { numRuns: 2_000 },
  )
})

test('a conversation without instructions stays as it is', () => {
  const sent = { system: 'a', messages: [{ role: 'user', content: 'b' }] }
  assert.equal(placedSystem(sent, false), sent)
})
