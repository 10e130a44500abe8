import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertError, chat, completion, type ErrorBody, postTo, receiptOf } from '../../support/clients/chatClient.ts'
import {
  both,
  countTokens,
  DIALECT_PROVIDERS,
  messages,
  messagesAnswer,
  messagesStream,
} from '../../support/clients/messagesClient.ts'
import { itemOf } from '../../support/present.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const TOOL = { name: 'get', description: 'gets', input_schema: { type: 'object', properties: {} } }
const HOUR = { type: 'ephemeral', ttl: '1h' }

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      providers: DIALECT_PROVIDERS,
      models: [
        ...both('plain', 'mock,chunks=4'),
        ...both('echo', 'mock,echo'),
        ...both('thinker', 'mock,echo', { thinking: 'budget' }),
        ...both('keeper', 'mock,echo', { price: { input: '1', output: '2', cache_write_1h: '2' } }),
        ...both('rejected', 'mock,error=400'),
        ...both('down', 'mock,error=529'),
        ...both('limited', 'mock,error=429,retry_after=3'),
        ...both('attested', 'mock', { attested: true }),
        { id: 'openai/chat-only', routes: [{ provider: 'openai', model: 'mock' }] },
        { id: 'openai/texts', routes: [{ provider: 'openai', model: 'mock' }], endpoints: ['completions'] },
      ],
    },
    limits: { breakerFailures: 100 },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(() => stack.finish())

/** The request as the provider saw it. */
interface Seen {
  readonly body: Record<string, unknown>
  readonly headers: string[]
  readonly request_id: string
  readonly authorization: boolean
}

async function seen(model: string, body: object): Promise<Seen> {
  const answer = messagesAnswer(await messages(stack.baseUrl, apiKey, { model, ...body }))
  return JSON.parse(itemOf(answer.content, 0).text ?? '') as Seen
}

describe('credentials', () => {
  const body = JSON.stringify({ model: 'anthropic/plain', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] })
  const post = (key: string, headers = {}) => postTo(`${stack.baseUrl}/v1/messages?beta=true`, key, body, headers)

  test('x-api-key, Bearer, or both alike; any version', async () => {
    const version = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'output-128k,anything' }
    for (const reply of [
      await post('', { 'x-api-key': apiKey, ...version }),
      await post(apiKey),
      await post(apiKey, { 'x-api-key': apiKey }),
    ]) {
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.headers.get('request-id'), messagesAnswer(reply).id)
    }
  })

  test('two that differ conflict; a missing one and one of another kind are rejected', async () => {
    assertError(await post(apiKey, { 'x-api-key': 'sk_other' }), 400, 'payment_conflict')
    assertError(await post(''), 401, 'invalid_api_key')
    assertError(await post('', { 'x-api-key': 'ses_abc' }), 403, 'wrong_credential')
  })
})

describe('errors', () => {
  test('have the type that Anthropic clients look for, beside our own shape', async () => {
    const reply = await messages(stack.baseUrl, apiKey, { model: 'anthropic/plain', max_tokens: 0 })
    assertError(reply, 400, null, 'max_tokens')
    const body = JSON.parse(reply.text) as ErrorBody & { type: string; request_id: string }
    assert.deepEqual([body.type, body.request_id], ['error', reply.headers.get('x-request-id')])
  })

  for (const dialect of ['openai', 'anthropic']) {
    const cases: [model: string, body: object, status: number, code: string | null, param?: string][] = [
      [
        'plain',
        { messages: [{ role: 'user', content: [{ type: 'audio' }] }] },
        400,
        null,
        'messages[0].content[0].type',
      ],
      ['plain', { max_tokens: 99_999 }, 400, 'context_length_exceeded', 'max_tokens'],
      ['none', {}, 404, 'model_not_found', 'model'],
      ['attested', {}, 400, 'endpoint_not_supported', 'model'],
      ['plain:batch', {}, 400, 'batch_unavailable'],
      ['plain', { provider: { max_price: { prompt: '0.1' } } }, 404, 'no_route_for_policy'],
      ['rejected', {}, 400, 'upstream_rejected'],
      ['down', {}, 502, 'upstream_unavailable'],
      ['limited', {}, 429, 'rate_limited'],
    ]
    for (const [model, body, status, code, param] of cases) {
      for (const stream of [true, false]) {
        test(`${status} ${code} over ${dialect}, stream ${stream}: no charge`, async () => {
          if (model === 'limited' && stream) return
          const reply = await messages(stack.baseUrl, apiKey, { model: `${dialect}/${model}`, stream, ...body })
          const error = assertError(reply, status, code, param)
          assert.ok(!/mock provider/i.test(error.message) || code === 'upstream_rejected')
          if (status < 500 && code !== 'upstream_rejected' && code !== 'rate_limited') return
          const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
          assert.deepEqual([receipt.status, receipt.cost.units], ['failed', '0'])
        })
      }
    }
  }

  test('every chat model is served here except one on attested hardware and one for text completions only', async () => {
    for (const [model, code] of [
      ['openai/attested', 'endpoint_not_supported'],
      ['openai/texts', 'wrong_endpoint'],
    ] as const) {
      assertError(await messages(stack.baseUrl, apiKey, { model }), 400, code, 'model')
      assertError(await countTokens(stack.baseUrl, apiKey, { model }), 400, code, 'model')
    }
    const model = 'openai/chat-only'
    assert.equal((await messages(stack.baseUrl, apiKey, { model })).status, 200)
    assert.equal((await countTokens(stack.baseUrl, apiKey, { model })).status, 200)
    const expected: Record<string, string[]> = {
      'openai/attested': ['chat'],
      'openai/texts': ['completions'],
      'openai/chat-only': ['chat', 'messages'],
    }
    for (const [path, list] of [
      ['/v1/models', 'data'],
      ['/v1/pricing', 'models'],
    ]) {
      const body = (await (await fetch(stack.baseUrl + path)).json()) as Record<string, unknown>
      const models = body[list ?? ''] as { id: string; endpoints: string[] }[]
      const found = models.filter(({ id }) => Object.hasOwn(expected, id)).map(({ id, endpoints }) => [id, endpoints])
      assert.deepEqual(Object.fromEntries(found), expected, path)
    }
  })

  test('a balance that does not cover the hold', async () => {
    const poor = await stack.createAccount({ credits: '0.00000001' })
    const reply = await messages(stack.baseUrl, poor.apiKey, { model: 'anthropic/plain' })
    assertError(reply, 402, 'insufficient_balance')
  })
})

describe('the request to a provider of the same dialect', () => {
  test('the native body is forwarded untranslated, cleaned, under the gateway’s own credential', async () => {
    const body = {
      max_tokens: 50,
      system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', note: 'x' }] }],
      tools: [TOOL, { type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'auto' },
      top_k: 3,
      temperature: 0.5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
    }
    const dropped = { service_tier: 'auto', speed: 'fast', container: 'c', mcp_servers: [], inference_geo: 'us' }
    const {
      body: asked,
      headers,
      request_id: id,
      authorization,
    } = await seen('anthropic/echo', { ...body, ...dropped })
    const clean = { ...body, messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }], tools: [TOOL] }
    assert.deepEqual(asked, { model: 'mock,echo', ...clean })
    assert.match(id, /^try_/)
    assert.ok(authorization && headers.includes('x-api-key') && headers.includes('anthropic-version'))
    assert.ok(!headers.includes('authorization') && !headers.includes('anthropic-beta'))
  })

  test('a one-hour cache lifetime is forwarded only if it has a price, thinking only if the model supports it', async () => {
    const cached = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: HOUR }] }] }
    const mark = async (model: string) => JSON.stringify((await seen(model, cached)).body['messages'])
    assert.ok((await mark('anthropic/keeper')).includes('1h'))
    assert.ok(!(await mark('anthropic/echo')).includes('1h'))
    const thinking = { max_tokens: 4_000, thinking: { type: 'enabled', budget_tokens: 2_000 } }
    assert.deepEqual((await seen('anthropic/thinker', thinking)).body['thinking'], thinking.thinking)
    assert.equal((await seen('anthropic/echo', thinking)).body['thinking'], undefined)
    assert.equal((await seen('openai/thinker', thinking)).body['reasoning_effort'], 'medium')
    assert.equal((await seen('openai/echo', thinking)).body['reasoning_effort'], undefined)
  })

  test('a chat request becomes a Messages body; its effort a budget within max_tokens', async () => {
    const body = { max_tokens: 4_000, reasoning_effort: 'medium', stop: 'END' }
    for (const [model, thinking] of [
      ['anthropic/thinker', { type: 'enabled', budget_tokens: 2_000 }],
      ['anthropic/echo', undefined],
    ]) {
      const answer = completion(await chat(stack.baseUrl, apiKey, { model: String(model), ...body }))
      const [choice] = answer['choices'] as { message: { content: string } }[]
      const { body: asked } = JSON.parse(choice?.message.content ?? '') as Seen
      assert.deepEqual(asked['messages'], [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }])
      assert.deepEqual([asked['max_tokens'], asked['thinking'], asked['stop_sequences']], [4_000, thinking, ['END']])
    }
  })
})

describe('answers', () => {
  for (const model of ['openai/plain', 'anthropic/plain']) {
    test(`${model} in one piece: the request's id, the public model, the receipt and its cost`, async () => {
      const reply = await messages(stack.baseUrl, apiKey, { model })
      const answer = messagesAnswer(reply)
      assert.deepEqual(
        [answer.id, answer.type, answer.role, answer.model, answer.stop_reason],
        [reply.headers.get('x-request-id'), 'message', 'assistant', model, 'end_turn'],
      )
      assert.deepEqual(answer.content, [{ type: 'text', text: ' tok0 tok1 tok2 tok3' }])
      assert.equal(reply.headers.get('x-cost-units'), answer.receipt.cost.units)
      assertReconciled(answer.receipt, await stack.provider.log())
      const stored = await receiptOf(stack.baseUrl, apiKey, answer.id)
      assert.deepEqual([stored.cost, Reflect.get(stored, 'endpoint')], [answer.receipt.cost, 'messages'])
    })

    test(`${model} streamed: the sequence of events, the receipt before message_stop`, async () => {
      const { events, answer, receipt, done, headers } = await messagesStream(stack.baseUrl, apiKey, { model })
      const types = events.map((event) => event.type).filter((type) => type !== 'ping')
      assert.deepEqual(types, [
        'message_start',
        'content_block_start',
        ...Array.from({ length: 4 }, () => 'content_block_delta'),
        'content_block_stop',
        'message_delta',
        'message_stop',
      ])
      assert.deepEqual([answer.id, answer.model], [headers.get('x-request-id'), model])
      assert.ok(done && receipt?.status === 'ok')
      assertReconciled(receipt, await stack.provider.log())
    })
  }
})
