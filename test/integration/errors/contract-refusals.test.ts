// Refusals that a client meets by mistake: what is refused, the field at fault, and words that say what to change.
// Nothing of it is charged.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type ErrorBody, postRaw, postTo } from '../../support/clients/chatClient.ts'
import { mediaModel, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { generate, videoModel } from '../../support/clients/videoClient.ts'
import { wavFile } from '../../support/samples/audio.ts'
import { pngHead } from '../../support/samples/pictures.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const M = 'test/small'

interface Operation {
  readonly requestBody: { content: Record<string, { schema: { required: string[]; [member: string]: unknown } }> }
}

const HELLO = [{ role: 'user', content: 'hello' }]

let stack: Stack
let accountId: string
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      providers: [{ id: 'mock' }, { id: 'keeps', data_policy: 'retained' }],
      models: [
        {
          id: M,
          endpoints: ['chat', 'completions', 'messages', 'responses'],
          price: { input: '1', output: '2', batch_input: '0.5', batch_output: '1' },
        },
        { id: 'test/kept', routes: [{ provider: 'keeps', model: 'chat-small' }] },
        { id: 'test/off', routes: [{ provider: 'mock', model: 'chat-small', enabled: false }] },
        { id: 'test/unverified', verified: false },
        { id: 'test/page', upstream: 'mock,error=400,err_body=html' },
        mediaModel('test/embedding', 'embedding'),
        mediaModel('test/image', 'image'),
        mediaModel('test/speech', 'speech'),
        mediaModel('test/transcription', 'transcription'),
        mediaModel('test/rerank', 'rerank'),
        videoModel('test/video', 'clip'),
      ],
    },
  })
  ;({ accountId, apiKey } = await stack.createAccount())
})
after(() => stack.finish())

const url = (path: string) => `${stack.baseUrl}/v1/${path}`

/** Asserts a refusal, and that its message has these words. */
function assertRefused(
  reply: { status: number; text: string },
  [status, code, param]: readonly [number, string | null, string | null],
  words: RegExp,
): void {
  const { error } = JSON.parse(reply.text) as ErrorBody
  assert.deepEqual([reply.status, error?.code, error?.param], [status, code, param], reply.text)
  assert.match(error.message, words)
}

async function keyWith(...args: string[]): Promise<string> {
  const { json } = await stack.cli('key', 'create', accountId, ...args)
  return (json as { api_key: string }).api_key
}

const ASKS: ReadonlyArray<readonly [path: string, body: Record<string, unknown>]> = [
  ['completions', { model: M, prompt: 'hello' }],
  ['messages', { model: M, max_tokens: 10, messages: HELLO }],
  ['responses', { model: M, input: 'hello' }],
  ['embeddings', { model: 'test/embedding', input: 'hello' }],
  ['images/generations', { model: 'test/image', prompt: 'a cat' }],
  ['audio/speech', { model: 'test/speech', input: 'hello' }],
  ['rerank', { model: 'test/rerank', query: 'q', documents: ['a'] }],
  ['videos/generations', { model: 'test/video', prompt: 'a cat' }],
]

for (const [path, body] of ASKS) {
  test(`batch is rejected on endpoints without batches, rather than run at the usual price: ${path}`, async () => {
    const wished = await postJson(url(path), apiKey, { ...body, batch: true })
    assertRefused(wished, [400, 'batch_unavailable', 'batch'], /submitted at \/v1\/chat\/completions; leave batch out/)
    const named = await postJson(url(path), apiKey, { ...body, model: `${String(body['model'])}:batch` })
    assertRefused(named, [400, 'batch_unavailable', 'model'], /leave :batch out/)
    const wrong = await postJson(url(path), apiKey, { ...body, batch: 'yes' })
    assertRefused(wrong, [400, null, 'batch'], /true or false/)
    const not = await postJson(url(path), apiKey, { ...body, batch: false })
    assert.ok(not.status < 300, not.text)
  })
}

test('the OpenAPI document names the required members of a body', async () => {
  const response = await fetch(url('openapi.json'))
  const { paths } = (await response.json()) as { paths: Record<string, { post: Operation }> }
  const chatAsk = ['chat/completions', { model: M, messages: HELLO }] as const
  for (const [path, body] of [chatAsk, ...ASKS]) {
    const { schema } = paths[`/v1/${path}`]?.post.requestBody.content['application/json'] ?? {}
    assert.deepEqual([...(schema?.required ?? [])].sort(), Object.keys(body).sort(), path)
    for (const name of Object.keys(body)) {
      assertRefused(await postJson(url(path), apiKey, { ...body, [name]: null }), [400, null, name], new RegExp(name))
    }
  }
  const { schema } = paths['/v1/completions']?.post.requestBody.content['application/json'] ?? {}
  const fits = new Ajv2020({ strict: false }).compile(schema ?? false)
  for (const prompt of ['hello', ['hello']]) {
    assert.ok(fits({ model: M, prompt }))
    assert.equal((await postJson(url('completions'), apiKey, { model: M, prompt })).status, 200)
  }
  for (const prompt of [[], ['one', 'two'], 5]) assert.ok(!fits({ model: M, prompt }))
})

test('form fields accept booleans as words, including the spelling of Python', async () => {
  const send = (fields: Record<string, unknown>) =>
    postForm(url('audio/transcriptions'), apiKey, { model: 'test/transcription', file: wavFile(1), ...fields })
  for (const batch of ['true', 'True']) {
    assertRefused(await send({ batch }), [400, 'batch_unavailable', 'batch'], /leave batch out/)
  }
  for (const stream of ['true', 'True']) assertRefused(await send({ stream }), [400, null, 'stream'], /not streamed/)
  for (const fields of [{ stream: 'False' }, { batch: 'false' }]) assert.equal((await send(fields)).status, 200)
  assertRefused(await send({ stream: 'maybe' }), [400, null, 'stream'], /true or false/)
  const edit = { model: 'test/image', prompt: 'a cat', image: pngHead(16, 16) }
  const streamed = await postForm(url('images/edits'), apiKey, { ...edit, stream: 'True' })
  assertRefused(streamed, [400, 'unsupported_parameter', 'stream'], /leave stream out/)
  assert.equal((await postForm(url('images/edits'), apiKey, { ...edit, stream: 'False' })).status, 200)
})

test('only the video of a clip can be requested', async () => {
  const made = await generate(stack.baseUrl, apiKey, { model: 'test/video' })
  const { id } = JSON.parse(made.text) as { id: string }
  const read = async (query: string) => {
    const headers = { authorization: `Bearer ${apiKey}` }
    const response = await fetch(`${url(`videos/${id}/content`)}${query}`, { headers })
    return { status: response.status, text: await response.text() }
  }
  assertRefused(await read('?variant=thumbnail'), [400, null, 'variant'], /must be video/)
  await until('the clip is made', async () => (await read('?variant=video')).status === 200)
})

test('a price below a millionth of a dollar is read exactly', async () => {
  const ask = (prompt: unknown) =>
    postJson(url('chat/completions'), apiKey, { model: M, messages: HELLO, provider: { max_price: { prompt } } })
  for (const prompt of [0.0000001, 1.5e-8, '0.0000001']) {
    assertRefused(await ask(prompt), [404, 'no_route_for_policy', 'provider.max_price'], /costs 1 USD/)
  }
  for (const prompt of [1e-10, 1.2345e-7]) {
    const refusal = /at most nine decimals/
    assertRefused(await ask(prompt), [400, null, 'provider.max_price.prompt'], refusal)
  }
})

test('a body that is not JSON in UTF-8 is rejected with the exact reason', async () => {
  const ask = async (body: string | Uint8Array) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
    const response = await fetch(url('chat/completions'), { method: 'POST', headers, body })
    return { status: response.status, text: await response.text() }
  }
  const latin = Buffer.from(JSON.stringify({ model: M, messages: [{ role: 'user', content: 'café' }] }), 'latin1')
  assertRefused(await ask(latin), [400, null, null], /not UTF-8/)
  assertRefused(await ask(Uint8Array.of(0x1f, 0x8b, 8, 0)), [400, null, null], /not compressed/)
  const form = '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nx\r\n--b--\r\n'
  assertRefused(await ask(form), [400, 'unsupported_media_type', null], /application\/json/)
  assertRefused(await ask('model=x&stream=true'), [400, 'unsupported_media_type', null], /application\/json/)
  assertRefused(await ask('{"model"'), [400, 'body_incomplete', null], /ended early/)
  assertRefused(await ask('{"model": x}'), [400, null, null], /not valid JSON/)
})

test('a byte order mark before the body is ignored', async () => {
  const reply = await postRaw(stack.baseUrl, apiKey, `\ufeff${JSON.stringify({ model: M, messages: HELLO })}`)
  assert.equal(reply.status, 200, reply.text)
})

test('either name of the output limit bounds a completion', async () => {
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    const reply = await postJson(url('completions'), apiKey, { model: M, prompt: 'hello', [name]: 3 })
    const { usage } = JSON.parse(reply.text) as { usage: { completion_tokens: number } }
    assert.equal(usage.completion_tokens, 3, name)
    const tooMany = await postJson(url('completions'), apiKey, { model: M, prompt: 'hello', [name]: 99_999 })
    assertRefused(tooMany, [400, 'context_length_exceeded', name], /at most 16384/)
  }
})

test('a tool without a function is rejected by the gateway, not by the provider', async () => {
  for (const tool of [{}, { function: 'f' }, { function: {} }, { function: { name: 5 } }]) {
    const tools = [
      { type: 'function', function: { name: 'good' } },
      { type: 'function', ...tool },
    ]
    const reply = await postJson(url('chat/completions'), apiKey, { model: M, messages: HELLO, tools })
    assertRefused(reply, [400, null, 'tools[1].function'], /function's name/)
  }
})

test('a model that does not serve an endpoint is rejected with the endpoints that it serves', async () => {
  const reply = await postJson(url('embeddings'), apiKey, { model: M, input: 'x' })
  assertRefused(reply, [400, 'wrong_endpoint', 'model'], /does not serve embeddings, but chat, completions, messages/)
})

test('a listed model that cannot serve returns another error than an unknown one', async () => {
  const read = async (id: string) => {
    const response = await fetch(url(`models/${id}`))
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  const off = await read('test/off')
  assertRefused(off, [503, 'model_unavailable', 'model'], /cannot serve now/)
  assert.match(off.headers.get('retry-after') ?? '', /^[1-9]/)
  assertRefused(await read('test/unverified'), [503, 'model_unverified', 'model'], /verified/)
  assertRefused(await read('test/none'), [404, 'model_not_found', 'model'], /"test\/none"/)
})

test('the error names the routing preference that excluded every route', async () => {
  const ask = (model: string, provider: unknown, key = apiKey) =>
    postJson(url('chat/completions'), key, { model, messages: HELLO, provider })
  const dear = await ask(M, { max_price: { prompt: '0.5' } })
  assertRefused(dear, [404, 'no_route_for_policy', 'provider.max_price'], /costs 1 USD for input and 2 USD for output/)
  const kept = await ask('test/kept', { allow_retention: false })
  assertRefused(kept, [404, 'no_route_for_policy', null], /Every provider of test\/kept keeps what it is sent/)
  const byKey = await ask('test/kept', undefined, await keyWith('--no-logs'))
  assertRefused(byKey, [404, 'no_route_for_policy', null], /no-logs mode or on the private tier cannot opt in/)
})

test('an insufficient_balance error states the hold that the request needs', async () => {
  const { apiKey: poor } = await stack.createAccount({ credits: '0.001' })
  const image = await postJson(url('images/generations'), poor, { model: 'test/image', prompt: 'a cat' })
  assertRefused(image, [402, 'insufficient_balance', null], /balance does not cover the 0\.04 USD/)
  const capped = await postJson(url('images/generations'), await keyWith('--cap-day', '0.01'), {
    model: 'test/image',
    prompt: 'a cat',
  })
  assertRefused(capped, [402, 'spend_limit_exceeded', null], /daily cap does not cover the 0\.04 USD/)
  const spent = await postJson(url('images/generations'), await keyWith('--budget', '0.01'), {
    model: 'test/image',
    prompt: 'a cat',
  })
  assertRefused(spent, [402, 'key_budget_exceeded', null], /budget does not cover the 0\.04 USD/)
})

test('a provider that rejects a request without a reason is not quoted', async () => {
  const reply = await postJson(url('chat/completions'), apiKey, { model: 'test/page', messages: HELLO })
  assertRefused(reply, [400, 'upstream_rejected', null], /without saying why/)
})

test('credentials of another kind are rejected with the name of their kind', async () => {
  const body = JSON.stringify({ model: M, messages: HELLO })
  const secret = 'x'.repeat(43)
  const token = await postTo(url('chat/completions'), `rt_${secret}`, body)
  assertRefused(token, [403, 'wrong_credential', null], /not the read token of a job/)
  const session = await postTo(url('chat/completions'), `ses_${secret}`, body)
  assertRefused(session, [403, 'wrong_credential', null], /not a session/)
})
