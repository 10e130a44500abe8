import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import {
  assertError,
  chat,
  chatStream,
  completion,
  type ErrorBody,
  type Receipt,
  receiptOf,
} from '../../support/clients/chatClient.ts'
import { messages, messagesAnswer, messagesStream } from '../../support/clients/messagesClient.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const CHUNKS = 12
const FRAMINGS = [
  'eol=crlf',
  'eol=cr',
  'comments',
  'bom',
  'multiline',
  'split=1',
  'split=7',
  'batch=5',
  'donetext',
  'done=no',
  'usage=twice',
  'bigevent=70000',
  'tool',
  'thinking=3',
  'split=3,eol=crlf,bom',
]
const BROKEN = ['cut=3', 'fin=3', 'hang=3', 'error_in_stream=3', 'badframe=3']
const USELESS = [
  'reset',
  'html200',
  'error=500',
  'error=529',
  'error_in_stream=0',
  'cut=0',
  'fin=0',
  'error=401',
  'error=404',
  'error=503,err_body=html',
  'error=429',
  'badjson',
]
const UNREPORTED = ['usage=none', 'usage=negative', 'usage=fractional', 'usage=absurd']
/** Endpoint and the dialect of its provider; chat over the OpenAI dialect is in chat-streams. */
const PAIRS = [
  ['messages', 'anthropic'],
  ['messages', 'openai'],
  ['chat', 'anthropic'],
] as const

const upstream = (behaviour: string) => `mock,chunks=${CHUNKS},${behaviour}`
const nameOf = (behaviour: string) => behaviour.replaceAll(/[^a-z0-9]+/g, '-')
const otherOf = (dialect: string) => (dialect === 'openai' ? 'anthropic' : 'openai')
const endpoints = ['chat', 'messages']

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: {
      idleTimeoutMs: 6_000,
      firstByteTimeoutMs: 6_000,
      connectTimeoutMs: 3_000,
      breakerFailures: 100,
      // The tests that look at counted tokens wait for them, however busy the machine is.
      estimateTimeoutMs: 20_000,
    },
    catalog: {
      providers: ['openai', 'anthropic'].map((dialect) => ({ id: dialect, dialect })),
      models: ['openai', 'anthropic'].flatMap((provider) => [
        ...[...FRAMINGS, ...BROKEN, ...UNREPORTED, 'usage=start'].map((behaviour) => ({
          id: `${provider}/${nameOf(behaviour)}`,
          endpoints,
          routes: [{ provider, model: upstream(behaviour) }],
        })),
        ...USELESS.map((behaviour) => ({
          id: `${provider}/${nameOf(behaviour)}-spare`,
          endpoints,
          routes: [
            { provider, model: upstream(`${behaviour},prompt=999`) },
            { provider: otherOf(provider), model: upstream('prompt=11') },
          ],
        })),
        { id: `${provider}/slow`, endpoints, routes: [{ provider, model: 'mock,chunks=5000,delay=20,prompt=11' }] },
        { id: `${provider}/down`, endpoints, routes: [{ provider, model: upstream('error_in_stream=0') }] },
        { id: `${provider}/over`, endpoints, routes: [{ provider, model: upstream('prompt=5000,completion=5000') }] },
      ]),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(() => stack.finish())

/** What came of a request, whatever format it was in. */
interface Outcome {
  readonly receipt: Receipt | null
  /** How the stream ended: the code of its error event, or null for a good end. */
  readonly error: string | null
  /** It ended as streams of its format end. */
  readonly ended: boolean
  readonly text: string
}

async function stream(endpoint: string, model: string, body: object = {}): Promise<Outcome> {
  if (endpoint === 'chat') {
    const reply = await chatStream(stack.baseUrl, apiKey, { model, ...body })
    const { error } = reply.events.at(-1) as unknown as Partial<ErrorBody>
    return { receipt: reply.receipt, error: error?.code ?? null, ended: reply.done, text: reply.text }
  }
  const reply = await messagesStream(stack.baseUrl, apiKey, { model, ...body })
  const last = reply.events.at(-1)
  const error = last?.type === 'error' ? (last['error'] as ErrorBody['error']).code : null
  const ended = error === null ? reply.done : reply.comments.at(-1)?.startsWith(': receipt ') === true
  return { receipt: reply.receipt, error, ended, text: reply.text }
}

async function whole(endpoint: string, model: string): Promise<Receipt> {
  if (endpoint === 'chat') return completion(await chat(stack.baseUrl, apiKey, { model })).receipt
  return messagesAnswer(await messages(stack.baseUrl, apiKey, { model })).receipt
}

for (const [endpoint, dialect] of PAIRS) {
  describe(`${endpoint} over the ${dialect} dialect`, () => {
    for (const behaviour of FRAMINGS) {
      test(`a stream is passed on whole: ${behaviour}`, async () => {
        const { receipt, error, ended } = await stream(endpoint, `${dialect}/${nameOf(behaviour)}`)
        assert.deepEqual([error, ended, receipt?.status, receipt?.usage_source], [null, true, 'ok', 'reported'])
        assert.ok(receipt !== null)
        assertReconciled(receipt, await stack.provider.log())
      })
    }

    for (const behaviour of BROKEN) {
      test(`a stream that breaks is charged in part and not shown as a success: ${behaviour}`, async () => {
        const { receipt, error, ended, text } = await stream(endpoint, `${dialect}/${nameOf(behaviour)}`)
        assert.deepEqual([error, ended], ['stream_interrupted', true])
        assert.ok(!text.includes('message_stop') && !/overloaded/i.test(text))
        assert.deepEqual([receipt?.status, receipt?.usage_source], ['partial', 'estimated'])
        assert.equal(receipt?.usage.completion_tokens, 3)
        assert.ok(Number(receipt?.cost.units) >= 3 * 2_000 && Number(receipt?.cost.units) < Number(receipt?.hold.units))
      })
    }

    for (const behaviour of USELESS) {
      for (const streamed of [true, false]) {
        if (!streamed && /in_stream|cut|fin/.test(behaviour)) continue
        test(`fails over to a route of the other dialect: ${behaviour}, stream ${streamed}`, async () => {
          const model = `${dialect}/${nameOf(behaviour)}-spare`
          const receipt = streamed ? (await stream(endpoint, model)).receipt : await whole(endpoint, model)
          assert.ok(receipt !== null)
          assert.deepEqual([receipt.status, receipt.usage.prompt_tokens], ['ok', 11])
          assertReconciled(receipt, await stack.provider.log())
        })
      }
    }

    for (const behaviour of UNREPORTED) {
      for (const streamed of [true, false]) {
        test(`usage that is missing or impossible is counted: ${behaviour}, stream ${streamed}`, async () => {
          const model = `${dialect}/${nameOf(behaviour)}`
          const receipt = streamed ? (await stream(endpoint, model)).receipt : await whole(endpoint, model)
          assert.deepEqual([receipt?.status, receipt?.usage_source], ['ok', 'estimated'])
          // "hello" in one message; " tok0" and its like are two tokens each, from " tok10" on as well.
          assert.equal(receipt?.usage.prompt_tokens, 1 + 4 + 3)
          assert.equal(receipt?.usage.completion_tokens, streamed ? CHUNKS : 2 * CHUNKS)
          const { prompt_tokens: prompt, completion_tokens: output } = receipt.usage
          assert.equal(receipt.cost.units, String(prompt * 1_000 + output * 2_000))
        })
      }
    }

    test('a response without output is not charged', async () => {
      const ask = endpoint === 'chat' ? chat : messages
      const reply = await ask(stack.baseUrl, apiKey, { model: `${dialect}/down`, stream: true })
      assertError(reply, 502, 'upstream_unavailable')
      const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
      assert.deepEqual([receipt.status, receipt.cost.units], ['failed', '0'])
    })

    test('a charge above the hold is clamped and flagged', async () => {
      const { receipt } = await stream(endpoint, `${dialect}/over`, { max_tokens: 5 })
      assert.deepEqual([receipt?.clamped, receipt?.cost.units], [true, receipt?.hold.units])
    })

    test('a client that disconnects stops the provider and is charged for the output so far', async () => {
      const requestId = await leaveAfter(endpoint, `${dialect}/slow`, 5)
      await until('the provider notices', async () => (await lineOf(requestId)) !== undefined)
      const line = await lineOf(requestId)
      assert.equal(line?.outcome, 'client_gone')
      assert.ok(line.frames_sent < 4_000, `the provider went on for ${line.frames_sent} frames`)
      const receipt = await receiptOf(stack.baseUrl, apiKey, requestId)
      assert.deepEqual([receipt.status, receipt.error, receipt.usage_source], ['partial', 'client_gone', 'estimated'])
      assert.ok(receipt.usage.completion_tokens >= 5 && receipt.usage.completion_tokens <= line.frames_sent)
      // This dialect says what the prompt came to before anything else.
      if (dialect === 'anthropic') assert.equal(receipt.usage.prompt_tokens, 11)
    })
  })
}

for (const endpoint of ['messages', 'chat']) {
  test(`a stream that reports no output at its end is not billed by its beginning: ${endpoint}`, async () => {
    const { receipt } = await stream(endpoint, 'anthropic/usage-start')
    assert.deepEqual([receipt?.status, receipt?.usage_source], ['ok', 'estimated'])
    assert.equal(receipt?.usage.completion_tokens, CHUNKS)
  })
}

const lineOf = async (requestId: string) =>
  (await stack.provider.log()).find((served) => served.request_id === requestId)

/** Opens a stream, leaves once so many pieces of content have come, and answers with the request's id. */
function leaveAfter(endpoint: string, model: string, pieces: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(`${stack.baseUrl}/v1/${endpoint === 'chat' ? 'chat/completions' : 'messages'}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    })
    call.on('error', () => undefined)
    call.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', () => undefined)
      response.on('end', () => reject(new Error(text)))
      response.on('data', (part: string) => {
        text += part
        if (text.split(' tok').length <= pieces) return
        call.destroy()
        resolve(/"id":"(req_[^"]+)"/.exec(text)?.[1] ?? '')
      })
    })
    call.end(JSON.stringify({ model, stream: true, max_tokens: 1_000, messages: [{ role: 'user', content: 'hello' }] }))
  })
}
