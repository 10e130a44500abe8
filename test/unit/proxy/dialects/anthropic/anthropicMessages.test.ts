// Goal: whatever a chat holds, in whichever order, its prompt in the Messages format is one that the format takes, loses nothing,
// and is the beginning of the prompt of the next turn, so that the provider's cache has it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { anthropicPrompt } from '../../../../../proxy/dialects/anthropic/anthropicMessages.ts'
import { pairedResults } from '../../../../../proxy/dialects/shared/pairedResults.ts'

const words = fc.stringMatching(/^[a-z]{1,4}$/)
const plain = fc
  .tuple(fc.constantFrom('user', 'assistant', 'system', 'developer'), words)
  .map(([role, content]): JsonObject => ({ role, content }))
const call = fc.uniqueArray(fc.constantFrom('1', '2', '3'), { minLength: 1, maxLength: 2 }).map(
  (ids): JsonObject => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  }),
)
const result = fc
  .tuple(fc.constantFrom('1', '2', '3'), words)
  .map(([id, content]): JsonObject => ({ role: 'tool', tool_call_id: id, content }))
const conversation = fc
  .array(fc.oneof(plain, plain, call, result), { minLength: 1, maxLength: 10 })
  .map((said) => pairedResults(said, { textBytes: 0, messages: 0, images: 0 }))

const blocksIn = ({ content }: JsonObject): readonly JsonObject[] => content as JsonObject[]
const textsIn = (blocks: readonly JsonObject[]): unknown[] =>
  blocks.flatMap((block) =>
    Array.isArray(block['content']) ? textsIn(block['content'] as JsonObject[]) : [block['text']],
  )
const saidIn = (messages: readonly JsonObject[]): unknown[] =>
  messages.map(({ content }) => content).filter((content) => typeof content === 'string')

test('any chat is one that the format takes', () => {
  fc.assert(
    fc.property(conversation, fc.boolean(), (messages, first) => {
      const { system, messages: turns } = anthropicPrompt(messages, first)
      const roles = turns.map(({ role }) => role)
      assert.equal(roles[0], 'user')
      for (const [i, role] of roles.entries()) {
        assert.notEqual(role, roles[i + 1])
        if (role === 'system') assert.ok(!first && roles[i - 1] === 'user' && roles[i + 1] !== 'user')
      }
      for (const [i, turn] of turns.entries()) {
        const calls = blocksIn(turn).filter(({ type }) => type === 'tool_use')
        const next = blocksIn(turns[i + 1] ?? { content: [] }).slice(0, calls.length)
        assert.deepEqual(next.map((block) => block['tool_use_id']).sort(), calls.map(({ id }) => id).sort())
      }
      const said = [...textsIn(system), ...turns.flatMap((turn) => textsIn(blocksIn(turn)))]
      assert.deepEqual(
        said.filter((text) => text !== undefined && text !== '...'),
        saidIn(messages),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('the prompt of a turn begins that of the next one', () => {
  fc.assert(
    fc.property(conversation, words, fc.boolean(), (said, answer, first) => {
      const start = [{ role: 'system', content: 'a' }, { role: 'user', content: 'b' }, ...said]
      if (said.at(-1)?.['role'] === 'assistant') return
      const before = anthropicPrompt(start, first)
      const next = [
        { role: 'assistant', content: answer },
        { role: 'developer', content: 'c' },
        { role: 'user', content: 'd' },
      ]
      const after = anthropicPrompt([...start, ...next], first)
      assert.deepEqual(after.system, before.system)
      assert.deepEqual(after.messages.slice(0, before.messages.length), before.messages)
    }),
    { numRuns: 2_000 },
  )
})
