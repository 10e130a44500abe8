// Goal: an error of a provider is taken for what it is, whatever status it has: what is the gateway's own affair there goes to
// the next route and is never shown, what is the request's fault is told to the client. Method: a table of error answers as
// public bug reports show them, from a scripted provider, with a second route that serves and without one.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { BATCH_PRICE, ended, submitted } from '../support/clients/batchClient.ts'
import { chat, chatStream, completion, type ErrorBody } from '../support/clients/chatClient.ts'
import { beginEvents, chunk, event, type Play, ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { ERROR_ROWS, type Row } from './providerErrorRows.ts'
import { FAULT_ROWS } from './providerFaultRows.ts'
import { WORD_ROWS } from './providerWordRows.ts'

const ROWS = [...ERROR_ROWS, ...FAULT_ROWS, ...WORD_ROWS]

const modelOf = ({ name }: Row): string => name.replaceAll(/[^a-zA-Z0-9]+/g, '-')

const asked = new Map<string, number>()

function refuse(response: ServerResponse, { status, body, headers }: Row): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}

function serve(response: ServerResponse, stream: boolean): void {
  const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
  if (stream) {
    beginEvents(response)
    event(response, chunk({ content: 'served' }))
    event(response, { ...(chunk({}, 'stop') as object), usage })
    response.end('data: [DONE]\n\n')
    return
  }
  const choice = { index: 0, message: { role: 'assistant', content: 'served' }, finish_reason: 'stop' }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [choice], usage }))
}

function counted(name: string, play: Play): [string, Play] {
  return [
    name,
    (response, body, request) => {
      asked.set(name, (asked.get(name) ?? 0) + 1)
      play(response, body, request)
    },
  ]
}

const NO_MONEY = { message: 'SECRET', type: 'insufficient_quota', code: 'insufficient_quota' }
const PLAYS: Readonly<Record<string, Play>> = Object.fromEntries([
  ...ROWS.map((row) => counted(modelOf(row), (response) => refuse(response, row))),
  ...ROWS.map((row) => counted(`${modelOf(row)}-alone`, (response) => refuse(response, row))),
  ...ROWS.map((row) => counted(`${modelOf(row)}-batch`, (response) => refuse(response, row))),
  counted('event', (response) => {
    beginEvents(response)
    event(response, chunk({ role: 'assistant' }))
    event(response, { error: NO_MONEY })
    response.end()
  }),
  counted('no-stream-options', (response, body) => {
    if (body['stream_options'] === undefined) serve(response, body['stream'] === true)
    else response.writeHead(422).end(JSON.stringify({ detail: [{ msg: 'Extra inputs are not permitted' }] }))
  }),
  counted('good', (response, { stream }) => serve(response, stream === true)),
])

const to = (...names: string[]) => names.map((model) => ({ provider: 'scripted', model }))

let stack: Stack
let provider: ScriptedProvider
let apiKey: string

before(async () => {
  provider = await ScriptedProvider.start(PLAYS)
  stack = await startStack({
    limits: { breakerFailures: 100, batchTickMs: 50, batchCallPaceMs: 10, batchAttemptsMax: 2, batchRetryMs: 20 },
    catalog: {
      providers: [
        { id: 'scripted', base_url: provider.url },
        { id: 'strict', base_url: provider.url, stream_usage: false },
      ],
      models: [
        ...ROWS.flatMap((row) => [
          { id: `two/${modelOf(row)}`, routes: to(modelOf(row), 'good') },
          { id: `one/${modelOf(row)}`, routes: to(`${modelOf(row)}-alone`) },
          { id: `batch/${modelOf(row)}`, price: BATCH_PRICE, routes: to(`${modelOf(row)}-batch`) },
        ]),
        { id: 'two/event', routes: to('event', 'good') },
        { id: 'one/strict', routes: [{ provider: 'strict', model: 'no-stream-options' }] },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await provider?.stop()
  await stack?.finish()
})

for (const row of ROWS) {
  const { name, code, shown, retryAfter, rests, isFinal } = row
  test(`${name}: ${isFinal === true ? 'the client gets the error' : 'the next route serves'}`, async () => {
    const model = `two/${modelOf(row)}`
    const before = asked.get('good') ?? 0
    const reply = await chat(stack.baseUrl, apiKey, { model })
    assert.equal(reply.status, isFinal === true ? 400 : 200, reply.text)
    assert.equal((asked.get('good') ?? 0) - before, isFinal === true ? 0 : 1)
    if (isFinal === true) return
    assert.equal(completion(reply).receipt.usage.completion_tokens, 2)
    assert.equal((await chat(stack.baseUrl, apiKey, { model })).status, 200)
    const isResting = rests === true || retryAfter !== undefined
    assert.equal(asked.get(modelOf(row)), isResting ? 1 : 2)
  })

  test(`${name}: ${code} without another route`, async () => {
    const reply = await chat(stack.baseUrl, apiKey, { model: `one/${modelOf(row)}` })
    const { error } = JSON.parse(reply.text) as ErrorBody
    assert.equal(error.code, code, reply.text)
    if (shown !== undefined) assert.match(error.message, shown)
    assert.doesNotMatch(reply.text, /SECRET/)
    if (retryAfter !== undefined) assert.equal(reply.headers.get('retry-after'), String(retryAfter))
    assert.equal(reply.headers.get('x-should-retry'), isFinal === true ? 'false' : 'true')
  })
}

test('an error event about the account before any output goes to the next route, and the first one rests', async () => {
  for (let times = 0; times < 2; times++) {
    const reply = await chatStream(stack.baseUrl, apiKey, { model: 'two/event' })
    assert.deepEqual([reply.done, reply.receipt?.status, reply.receipt?.usage.prompt_tokens], [true, 'ok', 10])
  }
  assert.equal(asked.get('event'), 1)
  await until('it is logged', () => /account at the provider: insufficient_quota/.test(stack.logs()))
  assert.doesNotMatch(stack.logs(), /SECRET/)
})

for (const row of ROWS.filter(({ name }) =>
  ['billing_hard_limit_reached at 400', 'a refusal of 70,000 bytes'].includes(name),
)) {
  test(`${row.name}: a batch job shows ${row.isFinal === true ? 'the reason' : 'nothing of it'}`, async () => {
    const job = await ended(stack, apiKey, await submitted(stack, apiKey, { model: `batch/${modelOf(row)}` }))
    assert.deepEqual([job.status, job.receipt?.cost.units], ['failed', '0'])
    assert.match(job.error?.message ?? '', row.shown ?? /The provider answered 400/)
    assert.doesNotMatch(JSON.stringify(job), /SECRET/)
  })
}

test('stream_usage false: a provider that refuses stream_options streams, and may report usage unasked', async () => {
  const reply = await chatStream(stack.baseUrl, apiKey, {
    model: 'one/strict',
    stream_options: { include_usage: true },
  })
  assert.deepEqual(
    [reply.done, reply.receipt?.usage_source, reply.receipt?.usage.prompt_tokens],
    [true, 'reported', 10],
  )
})
