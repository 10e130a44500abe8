import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { type MessagesRequest, readMessagesRequest } from '../../../../../proxy/dialects/anthropic/messagesRequest.ts'
import { limits } from '../../../../support/limits.ts'

const USER = { role: 'user', content: 'hello' }
const MINIMAL = { model: 'acme/m', max_tokens: 100, messages: [USER] }
const TOOL = { name: 'get', description: 'gets', input_schema: { type: 'object', properties: {} } }

const read = (body: object): MessagesRequest => readMessagesRequest({ ...MINIMAL, ...body }, limits)

describe('a Messages body in the format of chat completions', () => {
  const forward = (body: object): JsonObject => read(body).forward

  test('a conversation with tools and images', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }
    const { forward: body } = read({
      system: [
        { type: 'text', text: 'be' },
        { type: 'text', text: 'kind' },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'look' }, image] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'text', text: 'I call' },
            { type: 'tool_use', id: 'c1', name: 'get', input: { a: 1 } },
            { type: 'tool_use', id: 'c2', name: 'get', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'and now?' },
            { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
            { type: 'tool_result', tool_use_id: 'c2', is_error: true, content: [{ type: 'text', text: 'two' }, image] },
          ],
        },
        { role: 'system', content: 'be short' },
        { role: 'user', content: [{ type: 'text', text: 'go' }] },
      ],
    })
    const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }
    const call = (id: string, text: string) => ({ id, type: 'function', function: { name: 'get', arguments: text } })
    assert.deepEqual(body['messages'], [
      { role: 'system', content: 'be\n\nkind' },
      { role: 'user', content: [{ type: 'text', text: 'look' }, shown] },
      {
        role: 'assistant',
        content: 'I call',
        tool_calls: [call('c1', '{"a":1}'), call('c2', '{}')],
        kept_reasoning: 'hm',
      },
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
      { role: 'user', content: [shown, { type: 'text', text: 'and now?' }] },
      { role: 'system', content: 'be short' },
      { role: 'user', content: 'go' },
    ])
  })

  test('options', () => {
    const schema = { type: 'object' }
    const closed = { type: 'object', properties: {}, additionalProperties: false }
    const body = forward({
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      output_config: { format: { type: 'json_schema', schema } },
      tools: [{ ...TOOL, input_schema: closed, strict: true }],
      tool_choice: { type: 'tool', name: 'get', disable_parallel_tool_use: true },
    })
    assert.deepEqual(body, {
      messages: [USER],
      tools: [
        {
          type: 'function',
          function: { name: 'get', description: 'gets', parameters: closed, strict: true },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'get' } },
      parallel_tool_calls: false,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop: ['END'],
      user: 'u',
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    })
    for (const [type, choice] of [
      ['auto', 'auto'],
      ['any', 'required'],
      ['none', 'none'],
    ]) {
      assert.equal(forward({ tools: [TOOL], tool_choice: { type } })['tool_choice'], choice)
    }
  })
})
