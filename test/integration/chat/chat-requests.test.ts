import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { assertError, type ChatBody, chat, completion, postRaw } from '../../support/clients/chatClient.ts'
import { itemOf } from '../../support/present.ts'
import { type Stack, startStack } from '../../support/stack.ts'

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { bodyTimeoutMs: 4_000 },
    catalog: {
      providers: [
        { id: 'mock' },
        { id: 'keeper', data_policy: 'retained' },
        { id: 'keyless', api_key_env: 'NOT_SET_ANYWHERE' },
      ],
      models: [
        { id: 'test/small' },
        { id: 'test/tiny', context: 1_000, max_output: 100 },
        { id: 'test/echo', upstream: 'mock,echo' },
        { id: 'test/off', routes: [{ provider: 'mock', model: 'chat-small', enabled: false }] },
        { id: 'test/keyless', routes: [{ provider: 'keyless', model: 'chat-small' }] },
        { id: 'test/kept', routes: [{ provider: 'keeper', model: 'chat-small' }] },
        { id: 'test/no-chat', endpoints: ['completions'] },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '10' })).apiKey
})

after(() => stack.finish())

type Case = [name: string, body: ChatBody, status: number, code: string | null, param?: string]
const UNNAMED = { type: 'function', function: {} }
const TOOL = { type: 'function', function: { name: 'f' } }
const M = 'test/small'
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const withImages = (count: number) => [{ role: 'user', content: Array.from({ length: count }, () => image) }]

const REFUSED: Case[] = [
  ['n above 1', { model: M, n: 2 }, 400, null, 'n'],
  ['temperature above 2', { model: M, temperature: 2.1 }, 400, null, 'temperature'],
  ['temperature below 0', { model: M, temperature: -0.1 }, 400, null, 'temperature'],
  ['temperature as text', { model: M, temperature: '1' }, 400, null, 'temperature'],
  ['max_tokens of 0', { model: M, max_tokens: 0 }, 400, null, 'max_tokens'],
  ['max_tokens with a fraction', { model: M, max_tokens: 1.5 }, 400, null, 'max_tokens'],
  ['max_tokens above max_output', { model: M, max_tokens: 16_385 }, 400, 'context_length_exceeded', 'max_tokens'],
  ['max_tokens beyond 2^53', { model: M, max_tokens: 1e300 }, 400, 'context_length_exceeded', 'max_tokens'],
  ['max_completion_tokens above it', { model: M, max_completion_tokens: 16_385 }, 400, 'context_length_exceeded'],
  [
    'a prompt beyond the window',
    { model: 'test/tiny', messages: [{ role: 'user', content: 'word '.repeat(5_000) }] },
    400,
    'context_length_exceeded',
  ],
  ['functions', { model: M, functions: [{ name: 'f' }] }, 400, 'unsupported_parameter', 'functions'],
  ['function_call', { model: M, function_call: 'auto' }, 400, 'unsupported_parameter', 'function_call'],
  ['17 images', { model: M, messages: withImages(17) }, 400, 'too_many_images'],
  ['no messages', { model: M, messages: [] }, 400, null, 'messages'],
  ['messages as text', { model: M, messages: 'hi' }, 400, null, 'messages'],
  ['a message without a role', { model: M, messages: [{ content: 'x' }] }, 400, null, 'messages[0].role'],
  ['an unknown role', { model: M, messages: [{ role: 'robot', content: 'x' }] }, 400, null, 'messages[0].role'],
  ['content of a number', { model: M, messages: [{ role: 'user', content: 5 }] }, 400, null, 'messages[0].content'],
  ['a user message without content', { model: M, messages: [{ role: 'user' }] }, 400, null, 'messages[0].content'],
  ['an audio part', { model: M, messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 400, null],
  ['stream as text', { model: M, stream: 'yes' }, 400, null, 'stream'],
  ['response_format as text', { model: M, response_format: 'json' }, 400, null, 'response_format'],
  ['a tool choice of a number', { model: M, tools: [TOOL], tool_choice: 5 }, 400, null, 'tool_choice'],
  ['a chosen function without a name', { model: M, tools: [TOOL], tool_choice: UNNAMED }, 400, null, 'tool_choice'],
  [
    'a chosen function whose name is an object',
    { model: M, tools: [TOOL], tool_choice: { type: 'function', function: { name: {} } } },
    400,
    null,
    'tool_choice',
  ],
  ['an unknown tool choice', { model: M, tools: [TOOL], tool_choice: 'perhaps' }, 400, null, 'tool_choice'],
  ['tools as an object', { model: M, tools: {} }, 400, null, 'tools'],
  ['an unknown model', { model: 'test/none' }, 404, 'model_not_found', 'model'],
  ['an empty model', { model: '' }, 400, null, 'model'],
  ['a model without an enabled route', { model: 'test/off' }, 503, 'model_unavailable'],
  ['a model whose provider has no key', { model: 'test/keyless' }, 503, 'model_unavailable'],
  ['a model that does not serve chat', { model: 'test/no-chat' }, 400, 'wrong_endpoint'],
  [
    'no route that keeps nothing',
    { model: 'test/kept', provider: { allow_retention: false } },
    404,
    'no_route_for_policy',
  ],
  ['a price below the model', { model: M, provider: { max_price: { prompt: 0.5 } } }, 404, 'no_route_for_policy'],
  [
    'max_price of text',
    { model: M, provider: { max_price: { prompt: 'cheap' } } },
    400,
    null,
    'provider.max_price.prompt',
  ],
  ['provider of text', { model: M, provider: 'acme' }, 400, null, 'provider'],
  ['a streamed batch', { model: `${M}:batch`, stream: true }, 400, 'batch_unavailable', 'stream'],
]

for (const [name, body, status, code, param] of REFUSED) {
  test(`rejected: ${name}`, async () => {
    assertError(await chat(stack.baseUrl, apiKey, body), status, code, param)
  })
}

test('rejected requests reach no provider and take no hold', async () => {
  const before = (await stack.provider.log()).length
  for (const [, body] of REFUSED) await chat(stack.baseUrl, apiKey, body)
  assert.equal((await stack.provider.log()).length, before)
  await stack.settled()
})

const SERVED: [name: string, body: ChatBody][] = [
  [
    'nulls for every optional member',
    { model: M, n: null, tools: null, max_tokens: null, temperature: null, stop: null, stream: null, provider: null },
  ],
  ['n of 1 and the bounds of temperature', { model: M, n: 1, temperature: 2 }],
  ['16 images', { model: M, messages: withImages(16) }],
  ['a retained route that is opted in to', { model: 'test/kept', provider: { allow_retention: true } }],
  [
    'a price at the model',
    { model: M, provider: { max_price: { prompt: 1, completion: '2' }, allow_retention: false } },
  ],
  [':cheapest', { model: `${M}:cheapest` }],
  ['max_tokens at max_output', { model: M, max_tokens: 16_384 }],
  ['hosted tools only, which are dropped', { model: M, tools: [{ type: 'web_search' }], tool_choice: 'auto' }],
]

for (const [name, body] of SERVED) {
  test(`served: ${name}`, async () => {
    const answer = completion(await chat(stack.baseUrl, apiKey, body))
    assert.equal(answer['model'], body.model.replace(':cheapest', ''))
    assert.equal(answer.receipt.status, 'ok')
  })
}

test('bodies that are not a JSON object are rejected with that reason', async () => {
  const send = (body: string) => postRaw(stack.baseUrl, apiKey, body)
  assertError(await send(''), 400, null)
  assertError(await send('[]'), 400, null)
  assertError(await send('{"model" "x"}'), 400, null)
  assertError(await send('{"model":"test/small","messages":[{"role":"us'), 400, 'body_incomplete')
  assertError(await send('{"model":"test/small"'), 400, 'body_incomplete')
})

test('fields that could change the bill are not forwarded', async () => {
  const body = {
    model: 'test/echo',
    service_tier: 'priority',
    speed: 'fast',
    best_of: 4,
    prediction: { content: 'x' },
    modalities: ['audio'],
    web_search_options: {},
    store: true,
    metadata: { a: 'b' },
    models: ['test/echo'],
    route: 'x',
    plugins: [],
    user: 'u1',
    provider: { order: ['x'] },
    stream_options: { include_usage: true, include_obfuscation: true },
    top_p: 0.5,
    max_completion_tokens: 50,
    max_tokens: 70,
    webhook_url: 'http://x',
    prompt_cache_retention: '24h',
    min_tokens: 5,
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }, { type: 'web_search' }],
  }
  const answer = completion(await chat(stack.baseUrl, apiKey, body))
  const choices = answer['choices'] as { message: { content: string } }[]
  const seen = JSON.parse(itemOf(choices, 0).message.content) as Record<string, unknown>
  const received = (seen['body'] ?? seen) as Record<string, unknown>
  const names = ['max_completion_tokens', 'messages', 'model', 'tools', 'top_p', 'user']
  assert.deepEqual(
    Object.keys(received)
      .filter((name) => !name.startsWith('_'))
      .sort(),
    names,
  )
  assert.equal(received['max_completion_tokens'], 50)
  assert.equal(received['model'], 'mock,echo')
  assert.deepEqual(
    (received['tools'] as { type: string }[]).map((tool) => tool.type),
    ['function'],
  )
})

test('credentials: missing, unknown, of another kind, two that differ, x-api-key', async () => {
  const body = JSON.stringify({ model: M, messages: [{ role: 'user', content: 'x' }] })
  assertError(await postRaw(stack.baseUrl, '', body), 401, 'invalid_api_key')
  assertError(await postRaw(stack.baseUrl, `sk_${'0'.repeat(43)}`, body), 401, 'invalid_api_key')
  assertError(await postRaw(stack.baseUrl, 'hello', body), 401, 'invalid_api_key')
  assertError(await postRaw(stack.baseUrl, 'ses_abc', body), 403, 'wrong_credential')
  assertError(await postRaw(stack.baseUrl, apiKey, body, { 'x-api-key': 'sk_other' }), 400, 'payment_conflict')
  assert.equal((await postRaw(stack.baseUrl, apiKey, body, { 'x-api-key': apiKey })).status, 200)
  // What a scheme of another kind carries is for whoever stands before the gateway.
  assert.equal(
    (await postRaw(stack.baseUrl, '', body, { 'x-api-key': apiKey, authorization: 'Basic YTpi' })).status,
    200,
  )
  assert.equal((await postRaw(stack.baseUrl, '', body, { 'x-api-key': apiKey })).status, 200)
})

test('paths and methods: 404, 405 with Allow, HEAD, trailing slash, CORS', async () => {
  const at = (path: string, init: RequestInit = {}) => fetch(stack.baseUrl + path, init)
  const missing = await at('/v1/v1/models')
  assert.equal(missing.status, 404)
  assert.match(await missing.text(), /use \/v1\/models/)
  assert.match(await (await at('/models')).text(), /use \/v1\/models/)
  const wrong = await at('/v1/chat/completions')
  assert.equal(wrong.status, 405)
  assert.match(wrong.headers.get('allow') ?? '', /POST/)
  assert.equal((await at('/v1/models', { method: 'PATCH' })).headers.get('allow'), 'GET, HEAD, OPTIONS')
  assert.equal((await at('/v1/models', { method: 'HEAD' })).status, 200)
  assert.equal((await at('/v1/models/')).status, 200)
  const preflight = await at('/v1/chat/completions', { method: 'OPTIONS', headers: { origin: 'https://app.example' } })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /authorization/)
  const browser = await at('/v1/models', { headers: { origin: 'https://app.example' } })
  // Every header of an answer, as long as no answer allows credentials of browsers.
  assert.equal(browser.headers.get('access-control-expose-headers'), '*')
  assert.equal(browser.headers.get('access-control-allow-credentials'), null)
})

/** Writes raw bytes and reads until the server closes or has answered once. */
function raw(bytes: string, end = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(stack.baseUrl).port), '127.0.0.1')
    let seen = ''
    socket.setTimeout(30_000, () => socket.destroy())
    socket.on('data', (data) => {
      seen += data.toString()
      if (/\r\n\r\n.*\}\}?$/s.test(seen)) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(seen))
    socket.write(bytes)
    if (end) socket.end()
  })
}

test('bodies with an untrustworthy length are rejected with 400', async () => {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\n`
  assert.match(await raw(`${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`), /^HTTP\/1.1 400/)
  assert.match(await raw(`${head}Transfer-Encoding: gzip\r\n\r\n`), /^HTTP\/1.1 400/)
  assert.match(await raw(`${head}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`), /^HTTP\/1.1 400/)
})

test('a body announced above the limit is rejected before it is read', async () => {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n`
  assert.match(await raw(head), /^HTTP\/1.1 413/)
})

test('a body that arrives too slowly is rejected with 408', async () => {
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n'
  for (const begun of ['', '{"model"']) {
    const answer = await raw(head + begun)
    assert.match(answer, /^HTTP\/1.1 408/)
    assert.match(answer, /body_timeout/)
  }
})

test('a client that disconnects mid-body does not affect other requests', async () => {
  assert.equal(await raw('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"mod', true), '')
  completion(await chat(stack.baseUrl, apiKey, { model: M }))
})
