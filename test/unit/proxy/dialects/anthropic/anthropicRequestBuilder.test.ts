import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readProviderError } from '../../../../../contract/providers/providerError.ts'
import type { Model } from '../../../../../proxy/catalog/catalog.ts'
import type { Provider, Route } from '../../../../../proxy/catalog/pricedItem.ts'
import {
  AnthropicRequestBuilder,
  printAnthropic,
} from '../../../../../proxy/dialects/anthropic/anthropicRequestBuilder.ts'
import { readChatRequest } from '../../../../../proxy/dialects/openai/chatRequest.ts'
import { refusalOfError } from '../../../../../proxy/upstream/providerErrors.ts'
import { classifyRefusal } from '../../../../../proxy/upstream/refusal.ts'
import { limits } from '../../../../support/limits.ts'

const HELLO = [{ role: 'user', content: 'hello' }]
const provider = { apiKey: 'secret' } as Provider
const route = { provider, upstreamModel: 'up' } as Route
const TOOL = { type: 'function', function: { name: 'get', description: 'gets', parameters: { type: 'object' } } }

function ask(body: object, maxTokens = 100, thinking: Model['thinking'] = 'none') {
  const request = readChatRequest({ model: 'acme/m', messages: HELLO, ...body }, limits)
  const made = new AnthropicRequestBuilder(request, 'req_A', { thinking }, printAnthropic(request, { thinking })).make(
    route,
    maxTokens,
  )
  return { ...made, body: JSON.parse(String(made.body)) as Record<string, unknown> }
}

test('a request has its path, its headers and the limit of its hold', () => {
  const { path, headers, requestId, body } = ask({ stream: true })
  assert.equal(path, '/messages')
  assert.equal(requestId, 'req_A')
  assert.deepEqual(headers.list, [
    'content-type',
    'application/json',
    'accept',
    'text/event-stream',
    'accept-encoding',
    'identity',
    'anthropic-version',
    '2023-06-01',
    'x-api-key',
    'secret',
  ])
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }]
  assert.deepEqual(body, { model: 'up', max_tokens: 100, stream: true, messages })
})

test('a conversation: system apart, tool results in the turn of the user, one turn per side', () => {
  const call = (id: string, text: string) => ({ id, type: 'function', function: { name: 'get', arguments: text } })
  const { body } = ask({
    messages: [
      { role: 'system', content: 'be kind' },
      {
        role: 'developer',
        content: [{ type: 'text', text: 'be short', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
          { type: 'image_url', image_url: 'https://example.com/a.png' },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [call('c.1', '{"a":1}'), call('c2', ''), call('c3', '{"cut')] },
      { role: 'tool', tool_call_id: 'c.1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'two' }] },
      { role: 'tool', tool_call_id: 'c3', content: '' },
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'I' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'will not' }] },
    ],
  })
  assert.deepEqual(body['system'], [
    { type: 'text', text: 'be kind' },
    { type: 'text', text: 'be short', cache_control: { type: 'ephemeral' } },
  ])
  assert.deepEqual(body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'c_1', name: 'get', input: { a: 1 } },
        { type: 'tool_use', id: 'c2', name: 'get', input: {} },
        { type: 'tool_use', id: 'c3', name: 'get', input: { arguments: '{"cut' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c_1', content: [{ type: 'text', text: 'one' }] },
        { type: 'tool_result', tool_use_id: 'c2', content: [{ type: 'text', text: 'two' }] },
        { type: 'tool_result', tool_use_id: 'c3' },
        { type: 'text', text: 'go' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I' },
        { type: 'text', text: 'will not' },
      ],
    },
  ])
})

test('instructions without messages become the turn of the user', () => {
  const { body } = ask({ messages: [{ role: 'system', content: 'write' }] })
  assert.deepEqual(body['messages'], [{ role: 'user', content: [{ type: 'text', text: 'write' }] }])
  assert.equal(body['system'], undefined)
})

test('options that the format knows are translated, the others are dropped', () => {
  const { body } = ask({
    temperature: 1.7,
    top_p: 0.5,
    top_k: 9,
    stop: 'END',
    user: 'u',
    seed: 1,
    logit_bias: {},
    presence_penalty: 1,
    n: 1,
    service_tier: 'flex',
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'number' } } },
  })
  const { messages: _messages, ...rest } = body
  assert.deepEqual(rest, {
    model: 'up',
    max_tokens: 100,
    stop_sequences: ['END'],
    metadata: { user_id: 'u' },
    temperature: 1,
    top_k: 9,
    output_config: { format: { type: 'json_schema', schema: { type: 'number' } } },
  })
  assert.equal(ask({ top_p: 0.5 }).body['top_p'], 0.5)
  assert.ok(!('top_k' in ask({ top_k: -1 }).body))
  assert.deepEqual(ask({ stop: ['a', 'b'] }).body['stop_sequences'], ['a', 'b'])
})

test('tools and the choice among them', () => {
  const tools = [TOOL, { type: 'function', function: { name: 'bare' } }, { type: 'web_search' }]
  assert.deepEqual(ask({ tools }).body['tools'], [
    { name: 'get', description: 'gets', input_schema: { type: 'object' } },
    { name: 'bare', input_schema: { type: 'object', properties: {} } },
  ])
  const choice = (body: object) => ask({ tools, ...body }).body['tool_choice']
  assert.equal(choice({}), undefined)
  assert.deepEqual(choice({ tool_choice: 'auto' }), { type: 'auto' })
  assert.deepEqual(choice({ tool_choice: 'none', parallel_tool_calls: false }), { type: 'none' })
  assert.deepEqual(choice({ tool_choice: 'required' }), { type: 'any' })
  assert.deepEqual(choice({ tool_choice: { type: 'function', function: { name: 'get' } } }), {
    type: 'tool',
    name: 'get',
  })
  assert.deepEqual(choice({ parallel_tool_calls: false }), { type: 'auto', disable_parallel_tool_use: true })
})

describe('reasoning_effort', () => {
  const budget = (effort: string, maxTokens: number, body: object = {}) =>
    ask({ reasoning_effort: effort, temperature: 0, ...body }, maxTokens, 'budget').body

  test('becomes a budget within the limit of the hold', () => {
    assert.deepEqual(budget('medium', 10_000)['thinking'], { type: 'enabled', budget_tokens: 5_000 })
    assert.deepEqual(budget('minimal', 4_000)['thinking'], { type: 'enabled', budget_tokens: 1_024 })
    assert.deepEqual(budget('high', 1_025)['thinking'], { type: 'enabled', budget_tokens: 1_024 })
    assert.deepEqual(budget('high', 1_000_000)['thinking'], { type: 'enabled', budget_tokens: 32_768 })
    assert.equal(budget('high', 10_000)['temperature'], undefined)
    for (const none of [budget('high', 1_024), budget('none', 10_000), budget('bogus', 10_000)]) {
      assert.deepEqual([none['thinking'], none['temperature']], [undefined, 0])
    }
  })

  test('is dropped if not allowed: a forced tool, a tool result whose call has no known thinking', () => {
    const tools = [TOOL]
    assert.equal(budget('high', 10_000, { tools, tool_choice: 'required' })['thinking'], undefined)
    const call = { id: 'c', type: 'function', function: { name: 'get', arguments: '{}' } }
    const messages = [
      ...HELLO,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ]
    assert.equal(budget('high', 10_000, { tools, messages })['thinking'], undefined)
    assert.notEqual(budget('high', 10_000, { tools })['thinking'], undefined)
  })

  test('becomes an effort for models that accept one, and only for these', () => {
    const effort = ask({ reasoning_effort: 'xhigh' }, 500, 'effort').body
    const shown = { type: 'adaptive', display: 'summarized' }
    assert.deepEqual([effort['thinking'], effort['output_config']], [shown, { effort: 'xhigh' }])
    const off = ask({ reasoning_effort: 'none', temperature: 0.5 }, 500, 'effort').body
    assert.deepEqual(
      [off['thinking'], off['output_config'], off['temperature']],
      [{ type: 'disabled' }, undefined, 0.5],
    )
    const formed = ask(
      { reasoning_effort: 'low', response_format: { json_schema: { schema: { type: 'null' } } } },
      500,
      'effort',
    ).body
    assert.deepEqual(formed['output_config'], {
      effort: 'low',
      format: { type: 'json_schema', schema: { type: 'null' } },
    })
    const none = ask({ reasoning_effort: 'high' }, 10_000, 'none').body
    assert.deepEqual([none['thinking'], none['output_config']], [undefined, undefined])
  })
})

test('errors of the dialect are classified like those of any provider', () => {
  const body = (type: string, message = 'no') => JSON.stringify({ type: 'error', error: { type, message } })
  const row = (status: number, text: string) => classifyRefusal(status, readProviderError(text), 0).error.row
  assert.equal(row(529, body('overloaded_error')), 'upstream_unavailable')
  assert.equal(row(400, body('invalid_request_error')), 'upstream_rejected')
  assert.equal(row(400, body('invalid_request_error', 'prompt is too long: 9 > 8')), 'context_length_exceeded')
  assert.equal(row(400, body('invalid_request_error', 'Your credit balance is too low')), 'upstream_unavailable')
  const event = (type: string) => refusalOfError({ type, message: 'x' })
  const rows = ['overloaded_error', 'api_error', 'rate_limit_error', 'invalid_request_error', 'authentication_error']
  assert.deepEqual(
    rows.map((type) => event(type).error.row),
    ['upstream_unavailable', 'upstream_unavailable', 'rate_limited', 'upstream_rejected', 'upstream_unavailable'],
  )
  assert.deepEqual([event('overloaded_error').elsewhere, event('invalid_request_error').elsewhere], [true, false])
})
