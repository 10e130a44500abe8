import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMessagesRequest } from '../../../../../proxy/dialects/anthropic/messagesRequest.ts'
import { readResponseRequest } from '../../../../../proxy/dialects/responses/responsesRequest.ts'
import { OWN_SIGNATURE, packReasoning, unpackReasoning } from '../../../../../proxy/dialects/shared/ownReasoning.ts'
import { packThought } from '../../../../../proxy/dialects/shared/thought.ts'
import { limits } from '../../../../support/limits.ts'

const WORDS = 'I look at Oslo. é 😀'
const HELLO = { role: 'user', content: 'hello' }

test('reasoning is packed up to the bound, and beyond it signed alone', () => {
  const packed = packReasoning(WORDS, limits)
  assert.equal(unpackReasoning(packed, limits), WORDS)
  assert.equal(packReasoning(WORDS, { packedCharactersMax: packed.length }), packed)
  assert.equal(packReasoning(WORDS, { packedCharactersMax: packed.length - 1 }), OWN_SIGNATURE)
  assert.equal(unpackReasoning(packed, { packedCharactersMax: packed.length - 1 }), '')
  assert.equal(packReasoning('', limits), '')
})

test('other texts hold no reasoning', () => {
  const thought = packThought({ type: 'thinking', thinking: WORDS, signature: 's' }, limits)
  for (const text of [OWN_SIGNATURE, thought, '', 'gAAAAAB', `${OWN_SIGNATURE}x`, null, 7])
    assert.equal(unpackReasoning(text, limits), '')
})

test('a prompt of Messages is as large with a signature of the gateway as without', () => {
  const sizeOf = (signature: object) => {
    const use = { type: 'tool_use', id: 't', name: 'f', input: {} }
    const content = [{ type: 'thinking', thinking: WORDS, ...signature }, use]
    const messages = [HELLO, { role: 'assistant', content }, HELLO]
    return readMessagesRequest({ model: 'm', max_tokens: 9, messages }, limits).prompt
  }
  assert.deepEqual(sizeOf({ signature: OWN_SIGNATURE }), sizeOf({}))
  assert.deepEqual(sizeOf({ signature: '' }), sizeOf({}))
})

test('a prompt of Responses is as large with packed words, with visible ones and with both', () => {
  const sizeOf = (item: object) => {
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    return readResponseRequest({ model: 'm', input: [HELLO, { type: 'reasoning', ...item }, call] }, limits).prompt
  }
  const summary = [{ type: 'summary_text', text: WORDS }]
  const encrypted_content = packReasoning(WORDS, limits)
  const plain = sizeOf({ summary })
  for (const item of [
    { summary: [], encrypted_content },
    { summary, encrypted_content },
    { summary, encrypted_content: OWN_SIGNATURE },
  ])
    assert.deepEqual(sizeOf(item), plain)
})
