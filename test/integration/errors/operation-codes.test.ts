// Every code of the contract's table "Codes: requests and models" that a model operation can end with: its status and
// type, and what it costs. What belongs to batch jobs, tools and MCP has tests of its own.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { api } from '../../support/clients/apiClient.ts'
import { assertError, chat, chatStream, type ErrorBody, postTo, type Reply } from '../../support/clients/chatClient.ts'
import { mediaModel, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { limits } from '../../support/limits.ts'
import { opusFile, wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const MIB = 1_048_576
const M = 'test/small'
const T = 'test/transcription'
const FORM = 'multipart/form-data; boundary=b'
const PART = '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nx\r\n'
const HELLO = [{ role: 'user', content: 'hello' }]
const FUNCTIONS = [{ name: 'f', parameters: { type: 'object' } }]
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }

let stack: Stack
let accountId: string
let apiKey: string
let privateKey: string

before(async () => {
  stack = await startStack({
    limits: {
      bodyTimeoutMs: 10_000,
      bodyBytesMax: 6 * MIB,
      uploadBytesOpenMax: 8 * MIB,
      firstByteTimeoutMs: 10_000,
      breakerFailures: 1_000,
      drainGraceMs: 300,
    },
    catalog: {
      providers: [{ id: 'mock' }, { id: 'keeps', data_policy: 'retained' }],
      models: [
        { id: M, endpoints: ['chat', 'messages'] },
        { id: 'test/kept', routes: [{ provider: 'keeps', model: 'chat-small' }] },
        { id: 'test/off', routes: [{ provider: 'mock', model: 'chat-small', enabled: false }] },
        { id: 'test/rejected', upstream: 'mock,error=422' },
        { id: 'test/down', upstream: 'mock,error=500' },
        { id: 'test/silent', upstream: 'mock,slow_headers=60000' },
        { id: 'test/cut', upstream: 'mock,chunks=20,cut=7' },
        { id: 'test/endless', upstream: 'mock,chunks=100000,delay=25' },
        { id: 'test/attested', attested: true, endpoints: ['chat', 'messages'] },
        { id: 'test/unverified', verified: false },
        mediaModel(T, 'transcription'),
        mediaModel('test/slow', 'transcription', 'mock,slow_headers=500'),
        mediaModel('test/image', 'image'),
        mediaModel('test/speech', 'speech'),
        mediaModel('test/rerank', 'rerank'),
      ],
    },
  })
  ;({ accountId, apiKey } = await stack.createAccount({ credits: '10' }))
  const { json } = await stack.cli('key', 'create', accountId, '--private-tier')
  privateKey = (json as { api_key: string }).api_key
})
after(() => stack.finish())

const url = (path: string) => `${stack.baseUrl}/v1/${path}`
const ask = (body: { model: string; [member: string]: unknown }) => chat(stack.baseUrl, apiKey, body)
const send = (path: string, body: unknown) => postJson(url(path), apiKey, body)
const upload = (fields: Record<string, unknown>) => postForm(url('audio/transcriptions'), apiKey, fields)
const uploadRaw = (body: string, type: string) =>
  postTo(url('audio/transcriptions'), apiKey, body, { 'content-type': type })

/** Asks with a key that no proxy has seen while control cannot read a table. */
async function askWithout(table: string): Promise<Reply> {
  const pool = createPool(stack.databaseUrl, limits)
  const { apiKey: unseen } = await stack.createAccount()
  await pool.query(`ALTER TABLE ${table} RENAME TO table_away`)
  try {
    return await chat(stack.baseUrl, unseen, { model: M })
  } finally {
    await pool.query(`ALTER TABLE table_away RENAME TO ${table}`)
    await pool.end()
  }
}

/** Sends the start of a body and waits for the answer. */
async function sendSlowly(): Promise<Reply> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'content-length': '100' }
  const call = request(url('chat/completions'), { method: 'POST', headers, agent: false })
  call.on('error', () => undefined)
  call.write('{"model"')
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of response) text += String(part)
  return { status: response.statusCode ?? 0, headers: new Headers(response.headers as Record<string, string>), text }
}

async function sendBesideAnother(): Promise<Reply> {
  const file = wavFile(100, { rate: 48_000 })
  await stack.provider.hold()
  const running = upload({ model: 'test/slow', file })
  await until('the provider has the first', async () => (await stack.provider.open()) > 0)
  const refused = await upload({ model: T, file })
  await stack.provider.release()
  assert.equal((await running).status, 200)
  return refused
}

type Refusal = readonly [code: string, status: number, type: string, send: () => Promise<Reply>]
const INVALID = 'invalid_request_error'
const priced = { provider: { max_price: { prompt: '1' } } }
const tooLong = Math.ceil(limits.audioSecondsMax / 0.12) + 1

/** What ends before anything is held, and what is held and given back. */
const UNCHARGED: readonly Refusal[] = [
  ['audio_too_long', 400, INVALID, () => upload({ model: T, file: opusFile(tooLong) })],
  ['bad_multipart', 400, INVALID, () => uploadRaw('hello', FORM)],
  ['batch_unavailable', 400, INVALID, () => ask({ model: `${M}:batch`, stream: true })],
  ['body_incomplete', 400, INVALID, () => uploadRaw(PART, FORM)],
  ['body_timeout', 408, INVALID, sendSlowly],
  ['context_length_exceeded', 400, INVALID, () => ask({ model: M, max_tokens: 1_000_000 })],
  [
    'endpoint_not_supported',
    400,
    INVALID,
    () => send('messages', { model: 'test/attested', max_tokens: 5, messages: HELLO }),
  ],
  ['input_too_long', 400, INVALID, () => send('audio/speech', { model: 'test/speech', input: 'x'.repeat(501) })],
  ['invalid_size', 400, INVALID, () => send('images/generations', { model: 'test/image', prompt: 'x', size: 'big' })],
  [
    'max_price_unsupported',
    400,
    INVALID,
    () => send('rerank', { model: 'test/rerank', query: 'q', documents: ['a'], ...priced }),
  ],
  ['model_not_found', 404, INVALID, () => ask({ model: 'test/none' })],
  ['model_unavailable', 503, 'service_unavailable', () => ask({ model: 'test/off' })],
  ['model_unverified', 503, 'service_unavailable', () => ask({ model: 'test/unverified' })],
  ['no_route_for_policy', 404, INVALID, () => ask({ model: 'test/kept', provider: { allow_retention: false } })],
  ['not_multipart', 400, INVALID, () => uploadRaw('{}', 'application/json')],
  ['policy_unavailable', 503, 'server_error', () => askWithout('api_keys')],
  ['private_batch_unavailable', 400, INVALID, () => chat(stack.baseUrl, privateKey, { model: `${M}:batch` })],
  ['settings_unavailable', 503, 'server_error', () => askWithout('account_settings')],
  [
    'too_many_images',
    400,
    INVALID,
    () => ask({ model: M, messages: [{ role: 'user', content: Array(17).fill(image) }] }),
  ],
  ['too_many_uploads', 429, 'rate_limit_error', sendBesideAnother],
  ['unsupported_audio', 400, INVALID, () => upload({ model: T, file: Buffer.from('no audio') })],
  ['unsupported_parameter', 400, INVALID, () => ask({ model: M, functions: FUNCTIONS })],
  ['upstream_rejected', 400, INVALID, () => ask({ model: 'test/rejected' })],
  ['upstream_timeout', 504, 'upstream_error', () => ask({ model: 'test/silent' })],
  ['upstream_unavailable', 502, 'upstream_error', () => ask({ model: 'test/down' })],
  ['wrong_endpoint', 400, INVALID, () => send('embeddings', { model: M, input: 'x' })],
]

async function credits(): Promise<string> {
  await stack.settled()
  const { json } = await stack.cli('account', 'show', accountId)
  return (json as { balance: { credits: string } }).balance.credits
}

async function costOf(requestId: string): Promise<{ status: number; units?: string | undefined; state?: string }> {
  const path = `/v1/receipts/${requestId}`
  const { status, body } = await api<{ status?: string; cost?: { units: string } }>(stack.baseUrl, 'GET', path, {
    token: apiKey,
  })
  return { status, units: body.cost?.units, ...(body.status && { state: body.status }) }
}

async function assertUncharged(...[code, status, type, provoke]: Refusal): Promise<void> {
  const reply = await provoke()
  const error = assertError(reply, status, code)
  assert.equal(error.type, type)
  if (status === 429 || status === 503) assert.ok(Number(reply.headers.get('retry-after')) >= 1)
  await stack.settled()
  const { status: found, units } = await costOf(reply.headers.get('x-request-id') ?? '')
  assert.ok(found === 404 || units === '0', `${found} ${units}`)
}

/** What these do to the stack, other requests would meet. */
const ALONE = ['policy_unavailable', 'settings_unavailable', 'too_many_uploads']

for (const alone of [false, true]) {
  const concurrency = !alone
  describe(`a request that ends with this code is not charged${alone ? ', alone' : ''}`, { concurrency }, () => {
    for (const [code, status, type, provoke] of UNCHARGED) {
      if (ALONE.includes(code) === alone) test(code, () => assertUncharged(code, status, type, provoke))
    }
  })
}

test('stream_interrupted: the output so far is charged, and the receipt has status partial', async () => {
  const reply = await chatStream(stack.baseUrl, apiKey, { model: 'test/cut' })
  const { error } = reply.events.at(-1) as unknown as ErrorBody
  assert.deepEqual([error.code, error.type, reply.done], ['stream_interrupted', 'upstream_error', true])
  assert.equal(reply.receipt?.status, 'partial')
  assert.ok(Number(reply.receipt.cost.units) > 0)
  await stack.settled()
  assert.equal((await costOf(reply.receipt.request_id)).units, reply.receipt.cost.units)
})

test('stream_cut and gateway_restarting: a restart does not charge', async () => {
  const before = await credits()
  const stream = chatStream(stack.baseUrl, apiKey, { model: 'test/endless' })
  const silent = ask({ model: 'test/endless' })
  await until('both are at the provider', async () => (await stack.provider.open()) === 2)
  assert.equal(await stack.proxy.sigterm(), 0)
  const cut = await stream
  const { error } = cut.events.at(-1) as unknown as ErrorBody
  assert.deepEqual([error.code, error.type, cut.done], ['stream_cut', 'service_unavailable', true])
  assert.deepEqual([cut.receipt?.status, cut.receipt?.cost.units], ['cut', '0'])
  assert.equal(assertError(await silent, 503, 'gateway_restarting').type, 'service_unavailable')
  await stack.proxy.start()
  await stack.ready()
  assert.equal(await credits(), before)
})
