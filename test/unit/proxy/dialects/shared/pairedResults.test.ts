// Goal: whatever a client has kept of a conversation, each call has an id of its own and one result directly after it, and
// nothing that was said is lost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { pairedBlocks } from '../../../../../proxy/dialects/anthropic/pairedBlocks.ts'
import { pairedResults } from '../../../../../proxy/dialects/shared/pairedResults.ts'

const NO_RESULT = 'There is no result.'
const sizeOf = () => ({ textBytes: 0, messages: 0, images: 0 })
/** The text, and the id of a call. */
const ADDED_BYTES = NO_RESULT.length + 1
const id = fc.constantFrom('a', 'b', 'c', 'd')
const words = fc.string({ minLength: 1, maxLength: 4 })
const sorted = (texts: readonly unknown[]): string[] => texts.map(String).sort()

const chatMessage = fc.oneof(
  ...['user', 'assistant', 'system'].map((role) => words.map((content): JsonObject => ({ role, content }))),
  fc
    .tuple(words, fc.uniqueArray(id, { minLength: 1, maxLength: 3 }))
    .map(([content, ids]): JsonObject => ({ role: 'assistant', content, tool_calls: ids.map((one) => ({ id: one })) })),
  fc.tuple(words, id).map(([content, one]): JsonObject => ({ role: 'tool', content, tool_call_id: one })),
  words.map((content): JsonObject => ({ role: 'tool', content })),
)
const callIds = ({ tool_calls: calls }: JsonObject): string[] =>
  ((calls ?? []) as readonly JsonObject[]).map((call) => String(call['id']))

function assertUnique(ids: readonly unknown[]): void {
  assert.equal(new Set(ids).size, ids.length)
}

/** The results that follow each message with calls have their ids, and there are no others. */
function assertChatPaired(messages: readonly JsonObject[]): void {
  for (let i = 0; i < messages.length; i++) {
    const ids = callIds(messages[i] ?? {})
    const results = messages.slice(i + 1, i + 1 + ids.length)
    assert.ok(results.every(({ role }) => role === 'tool'))
    assert.deepEqual(sorted(results.map((result) => result['tool_call_id'])), sorted(ids))
    i += ids.length
    assert.notEqual(messages[i + 1]?.['role'], 'tool')
  }
}

test('a chat with any calls and results', () => {
  fc.assert(
    fc.property(fc.array(chatMessage, { maxLength: 10 }), (made) => {
      const messages = structuredClone(made)
      const size = sizeOf()
      const paired = pairedResults(structuredClone(made), size)
      assertUnique(paired.flatMap(callIds))
      assert.notEqual(paired[0]?.['role'], 'tool')
      assertChatPaired(paired)
      const added = paired.filter(({ content }) => content === NO_RESULT)
      assert.deepEqual(
        sorted([...messages.map(({ content }) => content), ...added.map(() => NO_RESULT)]),
        sorted(paired.map(({ content }) => content)),
      )
      const { textBytes, ...rest } = size
      assert.ok(textBytes >= added.length * ADDED_BYTES)
      assert.deepEqual([rest.messages, rest.images], [added.length, 0])
      assert.deepEqual(pairedResults(paired, sizeOf()), paired)
    }),
    { numRuns: 2_000 },
  )
})

const result = (one: string, content: string): JsonObject => ({ type: 'tool_result', tool_use_id: one, content })
const userTurn = fc.tuple(fc.array(fc.tuple(id, words), { maxLength: 3 }), words).map(
  ([results, said]): JsonObject => ({
    role: 'user',
    content: [...results.map(([one, content]) => result(one, content)), { type: 'text', text: said }],
  }),
)
const assistantTurn = fc.tuple(words, fc.uniqueArray(id, { maxLength: 3 })).map(
  ([said, ids]): JsonObject => ({
    role: 'assistant',
    content: [{ type: 'text', text: said }, ...ids.map((one) => ({ type: 'tool_use', id: one, name: 'f', input: {} }))],
  }),
)
const instruction = words.map((said): JsonObject => ({ role: 'system', content: [{ type: 'text', text: said }] }))
const blocksIn = (messages: readonly JsonObject[], role: string, type: string): JsonObject[] =>
  messages
    .filter((message) => message['role'] === role)
    .flatMap(({ content }) => (content as JsonObject[]).filter((block) => block['type'] === type))
const saidIn = (messages: readonly JsonObject[]): unknown[] =>
  messages.flatMap(({ content }) => (content as JsonObject[]).map((block) => block['text'] ?? block['content'] ?? ''))

/** Consecutive messages of one side. */
function turnsOf(messages: readonly JsonObject[]): JsonObject[][] {
  const turns: JsonObject[][] = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (last !== undefined && last[0]?.['role'] === message['role']) last.push(message)
    else turns.push([message])
  }
  return turns
}

test('messages of blocks with any calls and results', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(userTurn, assistantTurn, instruction), { maxLength: 8 }), (messages) => {
      const size = sizeOf()
      const paired = pairedBlocks(messages, size)
      let asked: JsonObject[] = []
      for (const turn of turnsOf(paired)) {
        const results = blocksIn(turn, 'user', 'tool_result')
        if (turn[0]?.['role'] === 'user') {
          assert.deepEqual(sorted(results.map((one) => one['tool_use_id'])), sorted(asked.map((one) => one['id'])))
          const all = turn.flatMap(({ content }) => content as JsonObject[])
          assert.deepEqual(all.slice(0, results.length), results)
        }
        asked = blocksIn(turn, 'assistant', 'tool_use')
      }
      assert.deepEqual(asked, [])
      assertUnique(blocksIn(paired, 'assistant', 'tool_use').map((block) => block['id']))
      const added = blocksIn(paired, 'user', 'tool_result').filter(({ content }) => content === NO_RESULT)
      assert.deepEqual(sorted([...saidIn(messages), ...added.map(() => NO_RESULT)]), sorted(saidIn(paired)))
      assert.ok(size.textBytes >= added.length * ADDED_BYTES)
      assert.deepEqual(pairedBlocks(paired, sizeOf()), paired)
    }),
    { numRuns: 2_000 },
  )
})

test('a conversation without calls and results stays as it is', () => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ]
  assert.equal(pairedResults(messages, sizeOf()), messages)
  assert.deepEqual(pairedBlocks(messages, sizeOf()), messages)
})
