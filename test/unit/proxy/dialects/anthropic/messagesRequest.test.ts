import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import type { Model } from '../../../../../proxy/catalog/catalog.ts'
import { messagesText } from '../../../../../proxy/dialects/anthropic/cacheControl.ts'
import { type MessagesRequest, readMessagesRequest } from '../../../../../proxy/dialects/anthropic/messagesRequest.ts'
import { nativeBody } from '../../../../../proxy/dialects/anthropic/native.ts'
import { packThought } from '../../../../../proxy/dialects/shared/thought.ts'
import { limits } from '../../../../support/limits.ts'

const USER = { role: 'user', content: 'hello' }
const MINIMAL = { model: 'acme/m', max_tokens: 100, messages: [USER] }
const TOOL = { name: 'get', description: 'gets', input_schema: { type: 'object', properties: {} } }

const read = (body: object): MessagesRequest => readMessagesRequest({ ...MINIMAL, ...body }, limits)
const modelOf = (thinking: Model['thinking'], maxOutput = 16_384) => ({ thinking, maxOutput }) as Model

const user = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] })
const assistant = (...content: unknown[]) => ({ messages: [USER, { role: 'assistant', content }] })

const REFUSED: [body: object, param: string][] = [
  [{ model: '' }, 'model'],
  [{ max_tokens: null }, 'max_tokens'],
  [{ max_tokens: 0 }, 'max_tokens'],
  [{ max_tokens: 1.5 }, 'max_tokens'],
  [{ messages: 'hi' }, 'messages'],
  [{ messages: [] }, 'messages'],
  [{ messages: ['hi'] }, 'messages[0]'],
  [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
  [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
  [{ messages: [{ role: 'user', content: [] }] }, 'messages[0].content'],
  [user('x'), 'messages[0].content[0]'],
  [user({ type: 'text', text: 1 }), 'messages[0].content[0].text'],
  [user({ type: 'audio' }), 'messages[0].content[0].type'],
  [user({ type: 'toString' }), 'messages[0].content[0].type'],
  [user({ type: { toString: 1 } }), 'messages[0].content[0].type'],
  [user({ type: ['text'] }), 'messages[0].content[0].type'],
  [user({ type: 'tool_use', id: 'a', name: 'b', input: {} }), 'messages[0].content[0].type'],
  [user({ type: 'server_tool_use' }), 'messages'],
  [user({ type: 'image', source: 'x' }), 'messages[0].content[0].source'],
  [user({ type: 'image', source: { type: 'file', file_id: 'f' } }), 'messages[0].content[0].source.type'],
  [user({ type: 'image', source: { type: 'url' } }), 'messages[0].content[0].source.url'],
  [user({ type: 'image', source: { type: 'base64', data: '' } }), 'messages[0].content[0].source.media_type'],
  [
    user({ type: 'document', source: { type: 'base64', media_type: 'application/zip', data: '' } }),
    'messages[0].content[0].source.type',
  ],
  [user({ type: 'text', text: 'x', cache_control: { type: 'forever' } }), 'messages[0].content[0].cache_control'],
  [
    user({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }),
    'messages[0].content[0].cache_control.ttl',
  ],
  [assistant({ type: 'tool_use', id: 'a', name: 'b', input: 7 }), 'messages[1].content[0].input'],
  [user({ type: 'tool_result' }), 'messages[0].content[0].tool_use_id'],
  [{ system: 7 }, 'system'],
  [{ stream: 'yes' }, 'stream'],
  [{ temperature: 1.5 }, 'temperature'],
  [{ temperature: '1' }, 'temperature'],
  [{ top_p: -1 }, 'top_p'],
  [{ top_k: 1.5 }, 'top_k'],
  [{ stop_sequences: 'x' }, 'stop_sequences'],
  [{ stop_sequences: [1] }, 'stop_sequences'],
  [{ tools: {} }, 'tools'],
  [{ tools: [1] }, 'tools[0]'],
  [{ tools: [{ ...TOOL, name: '' }] }, 'tools[0].name'],
  [{ tools: [{ name: 'x' }] }, 'tools[0].input_schema'],
  [{ tools: [{ ...TOOL, description: 1 }] }, 'tools[0].description'],
  [{ tools: Array.from({ length: 2_049 }, () => TOOL) }, 'tools'],
  [{ tools: [TOOL], tool_choice: 'auto' }, 'tool_choice.type'],
  [{ tools: [TOOL], tool_choice: { type: 'tool' } }, 'tool_choice.name'],
  [{ thinking: true }, 'thinking'],
  [{ thinking: { type: 'deep' } }, 'thinking.type'],
  [{ thinking: { type: 'enabled', budget_tokens: 500 } }, 'thinking.budget_tokens'],
  [{ max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 2_000 } }, 'thinking.budget_tokens'],
  [{ output_config: 'high' }, 'output_config'],
  [{ output_config: { effort: 1 } }, 'output_config.effort'],
  [{ output_config: { format: { type: 'json' } } }, 'output_config.format'],
  [{ metadata: 'me' }, 'metadata'],
  [{ metadata: { user_id: 7 } }, 'metadata.user_id'],
  [{ cache_control: {} }, 'cache_control'],
  [{ provider: 'x' }, 'provider'],
]

describe('rejected Messages bodies', () => {
  for (const [body, param] of REFUSED) {
    test(`${param}: ${JSON.stringify(body).slice(0, 90)}`, () => {
      assert.throws(
        () => read(body),
        (error) => {
          assert.ok(error instanceof GatewayError)
          assert.deepEqual([error.status, error.param, error.row], [400, param, 'invalid_request'])
          return true
        },
      )
    })
  }

  test('more than 16 images, including those in tool results', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const images = (count: number) => Array.from({ length: count }, () => image)
    read(user(...images(16)))
    const tooMany = (error: unknown) => error instanceof GatewayError && error.row === 'too_many_images'
    assert.throws(() => read(user(...images(17))), tooMany)
    assert.throws(
      () => read(user(...images(8), { type: 'tool_result', tool_use_id: 'a', content: images(9) })),
      tooMany,
    )
  })
})

test('null counts as absent, and counting tokens needs no max_tokens', () => {
  const nothing = [
    'system',
    'tools',
    'thinking',
    'metadata',
    'stream',
    'temperature',
    'top_k',
    'stop_sequences',
    'provider',
  ]
  assert.deepEqual(read(Object.fromEntries(nothing.map((name) => [name, null]))).native, { messages: [USER] })
  const { max_tokens: _maxTokens, ...rest } = MINIMAL
  assert.equal(readMessagesRequest(rest, limits, false).maxTokens, null)
})

test('options with their own price, or not covered by the hold, are not forwarded', () => {
  const { native } = read({
    service_tier: 'auto',
    inference_geo: 'us',
    speed: 'fast',
    container: { id: 'c' },
    mcp_servers: [{ url: 'x' }],
    context_management: { edits: [] },
    betas: ['x'],
    user_profile_id: 'u',
    anything: 'else',
    metadata: { user_id: 'u', other: 'x' },
    tools: [TOOL, { type: 'web_search_20250305', name: 'web_search' }, { type: 'bash_20250124', name: 'bash' }],
    messages: [
      { role: 'user', name: 'x', content: [{ type: 'text', text: 'a', citations: [], note: 'unmeasured' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'i', name: 'n', input: { a: 1 }, caller: { x: 'y' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'i', content: 'b', note: 'unmeasured' }] },
    ],
  })
  assert.deepEqual(native, {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'i', name: 'n', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'i', content: 'b' }] },
    ],
    tools: [TOOL],
    metadata: { user_id: 'u' },
  })
  assert.deepEqual(read({ tools: [{ type: 'bash_20250124' }], tool_choice: { type: 'any' } }).native, {
    messages: [USER],
  })
})

test('all content that the model reads is measured', () => {
  const texts = {
    system: [{ type: 'text', text: 'S'.repeat(100) }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'ü'.repeat(50) },
          { type: 'document', title: 'T', source: { type: 'text', data: 'D'.repeat(100) } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'K'.repeat(100), signature: 'G'.repeat(100) },
          { type: 'redacted_thinking', data: 'R'.repeat(100) },
          { type: 'tool_use', id: 'i', name: 'n', input: { a: 'I'.repeat(100) } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'i', content: 'C'.repeat(100) }] },
    ],
    tools: [{ ...TOOL, description: 'L'.repeat(100) }],
    output_config: { format: { type: 'json_schema', schema: { description: 'F'.repeat(100) } } },
  }
  const { prompt, native } = read(texts)
  assert.ok(prompt.textBytes >= 1_000 && prompt.textBytes < Buffer.byteLength(JSON.stringify(native)))
  assert.deepEqual([prompt.messages, prompt.images, prompt.tools], [4, 0, 1])
})

test('a cache lifetime of an hour is requested only if it has a price', () => {
  const hour = { type: 'ephemeral', ttl: '1h' }
  const { native } = read({
    cache_control: hour,
    system: [{ type: 'text', text: 's', cache_control: hour }],
    tools: [{ ...TOOL, cache_control: hour }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'ttl 1h', cache_control: { type: 'ephemeral', ttl: '5m' } }] },
    ],
  })
  const priced = messagesText(native, true)
  const unpriced = messagesText(native, false)
  assert.equal(priced.split('"ttl":"1h"').length, 4)
  assert.ok(!unpriced.includes('"ttl"'))
  assert.equal(unpriced.split('"cache_control":{"type":"ephemeral"}').length, 5)
})

test('thinking and effort are forwarded to models that support thinking', () => {
  const request = read({
    max_tokens: 4_000,
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    output_config: { effort: 'low' },
  })
  assert.deepEqual(nativeBody(request, modelOf('none')), { messages: [USER] })
  assert.deepEqual(nativeBody(request, modelOf('budget')), request.native)
  const formed = read({ output_config: { effort: 'low', format: { type: 'json_schema', schema: {} } } })
  assert.deepEqual(nativeBody(formed, modelOf('none'))['output_config'], {
    format: { type: 'json_schema', schema: {} },
  })
})

test('thinking becomes the nearest effort of chat completions', () => {
  const effort = (body: object) =>
    read({ max_tokens: 10_000, ...body }).asChat(modelOf('effort')).forward['reasoning_effort']
  const budget = (tokens: number) => effort({ thinking: { type: 'enabled', budget_tokens: tokens } })
  assert.deepEqual([budget(1_024), budget(2_000), budget(5_000), budget(8_000)], ['low', 'low', 'medium', 'high'])
  assert.equal(effort({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }), 'max')
  assert.equal(effort({ output_config: { effort: 'xhigh' } }), 'xhigh')
  assert.equal(effort({ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }), undefined)
  assert.equal(effort({ thinking: { type: 'adaptive' } }), undefined)
  const unthinking = read({ max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 5_000 } })
  assert.equal(unthinking.asChat(modelOf('none')).forward['reasoning_effort'], undefined)
})

test('thinking without a signature is dropped, and so is a turn of only such thinking', () => {
  const unsigned = { type: 'thinking', thinking: 'hm', signature: '' }
  const { native } = read({ messages: [USER, { role: 'assistant', content: [unsigned] }, USER] })
  assert.deepEqual(native['messages'], [USER, USER])
})

test('the member of a call belongs to the next call of its message, and goes to no provider of the format', () => {
  const use = (id: string) => ({ type: 'tool_use', id, name: 'get', input: {} })
  const packed = (said: string) => {
    const data = packThought({ type: 'call_member', member: { said } }, limits)
    return { type: 'redacted_thinking', data }
  }
  const turn = (...content: object[]) => ({ role: 'assistant', content })
  const foreign = { type: 'redacted_thinking', data: 'of another' }
  const { native, forward, prompt } = read({
    messages: [
      USER,
      turn(packed('lost'), { type: 'text', text: 'a' }),
      USER,
      turn(foreign, packed('one'), use('a'), use('b'), packed('three'), use('c')),
    ],
  })
  const chat = forward['messages'] as readonly { readonly tool_calls?: readonly Record<string, unknown>[] }[]
  const members = chat.flatMap(({ tool_calls: calls = [] }) => calls.map(({ extra_content: member }) => member))
  assert.deepEqual(members, [{ said: 'one' }, undefined, { said: 'three' }])
  const sent = native['messages'] as readonly { readonly content: unknown }[]
  assert.deepEqual(sent[1]?.content, [{ type: 'text', text: 'a' }])
  assert.deepEqual(sent[3]?.content, [foreign, use('a'), use('b'), use('c')])
  assert.ok(prompt.rewritten && prompt.callMembers)
})
