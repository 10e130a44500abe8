// Goal: spans have the content of requests and answers where both the proxy and the key say so, in the form of the conventions;
// never that of a private request, of a key in no-logs mode, of an image, nor more than the bounds allow.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../../../control/runtime/db/pool.ts'
import type { Key } from '../../support/clients/accountKeys.ts'
import { api, assertRefused, type Json, newOwner } from '../../support/clients/apiClient.ts'
import { postTo, type Reply } from '../../support/clients/chatClient.ts'
import { DIALECT_PROVIDERS } from '../../support/clients/messagesClient.ts'
import { limits } from '../../support/limits.ts'
import { OtlpReceiver, type SeenSpan } from '../../support/otlpReceiver.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { conventionalSpans, newContext, value } from '../../support/traceClient.ts'

const QUEUE_BYTES = 1_048_576
const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ'
const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
const RESPONSES = '/v1/responses'
const NAMES = ['gen_ai.system_instructions', 'gen_ai.input.messages', 'gen_ai.output.messages'] as const

let receiver: OtlpReceiver
let stack: Stack
let accountId: string
let capturing: string
let silent: string

before(async () => {
  receiver = await OtlpReceiver.start()
  stack = await startStack({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    },
    limits: { traceContentQueueBytesMax: QUEUE_BYTES, breakerFailures: 1_000 },
    catalog: {
      providers: [...DIALECT_PROVIDERS, { id: 'proved', attested: true }],
      models: [
        ...DIALECT_PROVIDERS.flatMap(({ id: provider }) => [
          { id: `${provider}/text`, endpoints: endpointsOf(provider), routes: [{ provider, model: 'mock,chunks=3' }] },
          {
            id: `${provider}/tool`,
            endpoints: endpointsOf(provider),
            routes: [{ provider, model: 'mock,tool,chunks=4' }],
          },
        ]),
        { id: 'openai/fails', routes: [{ provider: 'openai', model: 'mock,error=500' }] },
        { id: 'openai/slow', routes: [{ provider: 'openai', model: 'mock,chunks=2000,delay=20' }] },
        {
          id: 'openai/two',
          routes: [
            { provider: 'openai', model: 'mock,error=500' },
            { provider: 'anthropic', model: 'mock,chunks=2' },
          ],
        },
        {
          id: 'test/private',
          routes: [{ provider: 'proved', model: 'mock,chunks=3' }],
          attested: true,
          price_private: { input: '3', output: '4' },
        },
      ],
    },
  })
  accountId = (await stack.createAccount({ credits: '1000' })).accountId
  capturing = await newKey('--capture-content')
  silent = await newKey()
})
after(async () => {
  await receiver.stop()
  await stack.finish()
})

const endpointsOf = (dialect: string): string[] =>
  dialect === 'openai' ? ['chat', 'messages', 'responses', 'completions'] : ['chat', 'messages', 'responses']

async function newKey(...flags: string[]): Promise<string> {
  const { json } = await stack.cli('key', 'create', accountId, ...flags)
  return (json as { api_key: string }).api_key
}

const ask = (path: string, key: string, body: object, isSampled = true): Promise<Reply> =>
  postTo(`${stack.baseUrl}${path}`, key, JSON.stringify(body), newContext(isSampled).headers)

/** The span of a request that was answered with 200. */
async function spanOf(reply: Reply, attempts = 1): Promise<SeenSpan> {
  assert.equal(reply.status, 200, reply.text)
  const id = reply.headers.get('x-request-id') ?? assert.fail('no id')
  const [own] = await conventionalSpans(receiver, id, 1 + attempts)
  return own
}

/** The content of a span, parsed: instructions, input, output; and whether some is missing. */
function contentOf(span: SeenSpan): unknown[] {
  const texts = NAMES.map((name) => value(span, name))
  const parsed = texts.map((text): unknown => (text === undefined ? undefined : JSON.parse(String(text))))
  return [...parsed, value(span, 'sluice.content.truncated')]
}

const NONE = [undefined, undefined, undefined, undefined]
const text = (content: string) => ({ type: 'text', content })
const said = (content: string) => [{ role: 'user', parts: [text(content)] }]
const answered = (part: object, reason: string) => [{ role: 'assistant', parts: [part], finish_reason: reason }]
const HELLO = { messages: [{ role: 'user', content: 'hello' }] }

const FORMATS: [path: string, body: object, input: unknown, instructions?: unknown][] = [
  [CHAT, HELLO, said('hello')],
  [MESSAGES, { ...HELLO, max_tokens: 100, system: 'Be kind.' }, said('hello'), [text('Be kind.')]],
  [RESPONSES, { input: 'hello', instructions: 'Be kind.' }, said('hello'), [text('Be kind.')]],
  ['/v1/completions', { prompt: 'hello' }, said('hello')],
]
for (const [path, body, input, instructions] of FORMATS) {
  for (const { id: dialect } of DIALECT_PROVIDERS) {
    if (path === '/v1/completions' && dialect !== 'openai') continue
    test(`${path} over ${dialect} has its content in its span, whole and streamed`, async () => {
      for (const stream of [false, true]) {
        const plain = await spanOf(await ask(path, capturing, { model: `${dialect}/text`, ...body, stream }))
        assert.deepEqual(contentOf(plain), [instructions, input, answered(text(' tok0 tok1 tok2'), 'stop'), undefined])
        if (path === '/v1/completions') continue
        const called = await spanOf(await ask(path, capturing, { model: `${dialect}/tool`, ...body, stream }))
        const [, , output] = contentOf(called) as [unknown, unknown, { parts: { id: string }[] }[]]
        const part = {
          type: 'tool_call',
          id: output[0]?.parts[0]?.id,
          name: 'get_weather',
          arguments: { city: 'ParisParisParis' },
        }
        assert.match(String(part.id), /\w{8}/)
        assert.deepEqual(output, answered(part, 'tool_call'))
      }
    })
  }
}

test('attempts have no content, and the one that served gives the answer', async () => {
  const reply = await ask(CHAT, capturing, { model: 'openai/two', ...HELLO, stream: true })
  const id = reply.headers.get('x-request-id') ?? ''
  const [own, ...attempts] = await conventionalSpans(receiver, id, 3)
  assert.deepEqual(contentOf(own).slice(1, 3), [said('hello'), answered(text(' tok0 tok1'), 'stop')])
  for (const attempt of attempts) assert.deepEqual(contentOf(attempt), NONE)
})

test('a key captures nothing unless it says so, and no longer once it is taken back', async () => {
  const body = { model: 'openai/text', ...HELLO }
  assert.deepEqual(contentOf(await spanOf(await ask(CHAT, silent, body))), NONE)
  const { json } = await stack.cli('key', 'create', accountId, '--capture-content')
  const { api_key: key, key_id: id } = json as { api_key: string; key_id: string }
  assert.notDeepEqual(contentOf(await spanOf(await ask(CHAT, key, body))), NONE)
  await stack.cli('key', 'update', id, '--no-capture-content')
  await until('the proxy knows', async () => contentOf(await spanOf(await ask(CHAT, key, body)))[1] === undefined)
})

test('keys in no-logs mode or on the private tier capture nothing, whatever their settings say', async () => {
  const quiet = await newKey('--no-logs', '--capture-content')
  for (const stream of [false, true]) {
    const body = { model: 'openai/text', ...HELLO, stream }
    assert.deepEqual(contentOf(await spanOf(await ask(CHAT, quiet, body))), NONE)
  }
  const both = await stack.cli('key', 'create', accountId, '--private-tier', '--capture-content')
  assert.notEqual(both.code, 0)
  assert.match(both.stderr, /capture_content must be false/)
  // Nothing but a change past the gateway's own rules gives a key both.
  const { json } = await stack.cli('key', 'create', accountId, '--private-tier')
  const { api_key: key, key_id: id } = json as { api_key: string; key_id: string }
  const pool = createPool(stack.databaseUrl, limits)
  await pool.query('UPDATE api_keys SET capture_content = true WHERE id = $1', [id])
  await pool.end()
  const body = { model: 'test/private', ...HELLO }
  await until('the hardware is verified', async () => (await ask(CHAT, key, body)).status === 200)
  for (const stream of [false, true]) {
    const reply = await ask(CHAT, key, { ...body, stream })
    assert.match(reply.text, /"tier":"private"/)
    assert.deepEqual(contentOf(await spanOf(reply)), NONE)
  }
})

test('content and the private tier exclude each other, whichever a key has first', async () => {
  const { token } = await newOwner(stack)
  const send = (method: string, id: string, body: Json) =>
    api<Key>(stack.baseUrl, method, `/v1/account/keys${id}`, { token, body })
  const body = { capture_content: true, private_tier: true }
  assertRefused(await send('POST', '', body), 400, null, 'capture_content')
  for (const [first, second] of [
    [{ capture_content: true }, { private_tier: true }],
    [{ private_tier: true }, { capture_content: true }],
  ] as const) {
    const { id } = (await send('POST', '', first)).body
    assertRefused(await send('PATCH', `/${id}`, second), 400, null, 'capture_content')
    assert.equal((await send('PATCH', `/${id}`, { capture_content: false, private_tier: true })).status, 200)
  }
})

test('a trace that is not sampled has no content, though its fault is exported', async () => {
  const reply = await ask(CHAT, capturing, { model: 'openai/fails', ...HELLO }, false)
  const [own] = await conventionalSpans(receiver, reply.headers.get('x-request-id') ?? '', 2)
  assert.equal(reply.status, 502)
  assert.deepEqual(contentOf(own), NONE)
})

test('the bytes of images are in no span', async () => {
  const url = `data:image/png;base64,${IMAGE}`
  const sent: [path: string, body: object, type: string][] = [
    [CHAT, { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }, 'image_url'],
    [RESPONSES, { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }, 'input_image'],
    [
      MESSAGES,
      {
        max_tokens: 10,
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: IMAGE } }],
          },
        ],
      },
      'image',
    ],
  ]
  for (const [path, body, type] of sent) {
    const own = await spanOf(await ask(path, capturing, { model: 'openai/text', ...body }))
    assert.deepEqual(contentOf(own)[1], [{ role: 'user', parts: [{ type }] }])
  }
  assert.ok(!JSON.stringify(receiver.spans.map(({ attributes }) => attributes)).includes(IMAGE.slice(0, 16)))
})

test('a long input is left out, and the span says so', async () => {
  for (const length of [66_000, 300_000]) {
    const long = { messages: [{ role: 'user', content: 'word '.repeat(length / 5) }] }
    const own = await spanOf(await ask(CHAT, capturing, { model: 'openai/text', ...long }))
    assert.deepEqual(contentOf(own), [undefined, undefined, answered(text(' tok0 tok1 tok2'), 'stop'), true])
  }
})

test('requests of odd types are answered as they are without content', async () => {
  const deep = `${'['.repeat(90)}${']'.repeat(90)}`
  const bodies = [
    `{"messages":[{"role":"user","content":"x"}],"metadata":{"a":"b"},"system":${deep},"input":7,"prompt":{}}`,
    `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}],"tool_calls":[null,7,{"function":[]}]}],"instructions":[[]]}`,
    `{"messages":[{"role":"user","content":"\\ud800"}],"__proto__":{"messages":1},"input":${deep}}`,
    `{"messages":[]}`,
    `{"messages":"x"}`,
  ]
  for (const body of bodies) {
    const whole = body.replace('{', '{"model":"openai/text",')
    const [one, other] = [capturing, silent].map((key) => postTo(`${stack.baseUrl}${CHAT}`, key, whole))
    const [loud, quiet] = [await one, await other]
    assert.equal(loud?.status, quiet?.status)
    if (loud?.status === 200) await spanOf(loud)
  }
})

test('a client that leaves has the part of the answer in the span', async () => {
  const controller = new AbortController()
  const response = await fetch(`${stack.baseUrl}${CHAT}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${capturing}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/slow', ...HELLO, stream: true }),
    signal: controller.signal,
  })
  await response.body?.getReader().read()
  controller.abort()
  const [own] = await conventionalSpans(receiver, response.headers.get('x-request-id') ?? '', 2)
  const output = String(value(own, 'gen_ai.output.messages'))
  assert.match(
    output,
    /^\[\{"role":"assistant","parts":\[\{"type":"text","content":" tok0.*"finish_reason":"error"\}\]$/,
  )
})

test('while a receiver takes nothing, content beyond its memory is dropped and counted; the spans stay', async () => {
  const dropped = async () => {
    const metrics = await (await fetch(stack.metricsUrl)).text()
    return Number(/^sluice_trace_contents_dropped_total (\d+)$/m.exec(metrics)?.[1] ?? 0)
  }
  const long = { model: 'openai/text', messages: [{ role: 'user', content: 'x'.repeat(60_000) }] }
  receiver.mode = 'hang'
  const count = Math.ceil(QUEUE_BYTES / 60_000) + 3
  const replies: Reply[] = []
  for (let i = 0; i < count; i++) replies.push(await ask(CHAT, capturing, long))
  await until('content is dropped', async () => (await dropped()) >= 3)
  receiver.release()
  const spans = await Promise.all(replies.map((reply) => spanOf(reply)))
  const without = spans.filter((span) => value(span, 'gen_ai.input.messages') === undefined)
  assert.equal(without.length, await dropped())
  const more = await spanOf(await ask(CHAT, capturing, long))
  assert.notEqual(value(more, 'gen_ai.input.messages'), undefined, 'its memory is free again')
})
