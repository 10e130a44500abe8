// Goal: neither a client that plays tricks nor a provider that sends nonsense moves money wrongly, hangs a request or
// ends a process. Method: a provider scripted byte by byte behind the real stack.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import {
  assertError,
  chat,
  chatStream,
  completion,
  postRaw,
  postTo,
  type Receipt,
  receiptOf,
  streamedText,
  takeApart,
} from '../../support/clients/chatClient.ts'
import { HealthWatch } from '../../support/clients/healthWatch.ts'
import { itemOf } from '../../support/present.ts'
import { deep, late, PLAYS } from '../../support/providers/hostilePlays.ts'
import { ScriptedProvider } from '../../support/providers/scriptedProvider.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

let stack: Stack
let provider: ScriptedProvider
let apiKey: string

before(async () => {
  provider = await ScriptedProvider.start(PLAYS)
  const models = Object.keys(PLAYS).map((name) => ({
    id: `test/${name}`,
    routes: [{ provider: 'scripted', model: name }],
  }))
  stack = await startStack({
    // What is decompressed on other threads may come late on a machine that stands still.
    limits: { breakerFailures: 100, lingerMs: 10_000, errorBodyMs: 4_000 },
    catalog: {
      providers: [{ id: 'scripted', base_url: provider.url }],
      models: [
        ...models,
        {
          id: 'test/failover',
          routes: ['error-first', 'late-error'].map((model) => ({ provider: 'scripted', model })),
        },
        {
          id: 'test/slow-errors',
          routes: ['error-stalls', 'error-trickles', 'gzip'].map((model) => ({ provider: 'scripted', model })),
        },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await provider.stop()
  await stack.finish()
})

const MEGABYTE = 'word '.repeat(80_000)
const HIDDEN: [string, Record<string, unknown>][] = [
  ['reasoning', { reasoning: MEGABYTE }],
  ['an unknown member', { anything: { deep: MEGABYTE } }],
  ['audio', { audio: { id: MEGABYTE } }],
]

for (const [name, extra] of HIDDEN) {
  test(`text that no hold covers does not reach the provider: ${name}`, async () => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'x', ...extra },
    ]
    const answer = completion(await chat(stack.baseUrl, apiKey, { model: 'test/echo', messages }))
    const [choice] = answer['choices'] as { message: { content: string } }[]
    assert.deepEqual(JSON.parse(choice?.message.content ?? ''), [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'x' },
    ])
  })
}

const MISTYPED: [string, Record<string, unknown>, string][] = [
  ['function_call', { function_call: { name: 'f', arguments: MEGABYTE } }, 'messages[0].function_call'],
  [
    'a name that is an object',
    { tool_calls: [{ id: 'c', function: { name: { a: MEGABYTE } } }] },
    'messages[0].tool_calls.function.name',
  ],
  ['reasoning_content as an array', { reasoning_content: [MEGABYTE] }, 'messages[0].reasoning_content'],
  ['refusal as an object', { refusal: { a: MEGABYTE } }, 'messages[0].refusal'],
]

for (const [name, extra, param] of MISTYPED) {
  test(`text in a place where it cannot be measured is rejected: ${name}`, async () => {
    const messages = [{ role: 'assistant', content: 'x', ...extra }]
    assertError(await chat(stack.baseUrl, apiKey, { model: 'test/echo', messages }), 400, null, param)
  })
}

test('every text of a message is covered by the hold', async () => {
  const held = async (extra: Record<string, unknown>) => {
    const messages = [{ role: 'assistant', content: 'x', ...extra }]
    const answer = completion(await chat(stack.baseUrl, apiKey, { model: 'test/echo', messages, max_tokens: 1 }))
    return Number(answer.receipt.hold.units)
  }
  const bare = await held({})
  const text = 'a'.repeat(2_000)
  const calls = [{ id: text, type: 'function', function: { name: text, arguments: text } }]
  assert.equal(await held({ reasoning_content: text }), bare + 1_000_000)
  // Some providers are sent a definition of each tool that a history calls: its name once more, and an empty schema. A call
  // without a result gets one, which has its id once more.
  const called = await held({ tool_calls: calls })
  assert.ok(called > bare + 5_000_000 && called < bare + 5_100_000, `${called} units are held`)
  const plain = { id: 'c', function: { name: 'f', arguments: '' } }
  const [least, asObject, extra] = await Promise.all([
    held({ tool_calls: [plain] }),
    held({ tool_calls: [{ ...plain, function: { name: 'f', arguments: { text } } }] }),
    held({ tool_calls: [{ ...plain, extra_content: { text } }] }),
  ])
  for (const more of [asObject, extra]) assert.ok(more > least + 1_000_000 && more < least + 1_100_000, `${more} units`)
})

test('deeply nested JSON is rejected, from clients and from providers', async () => {
  const body = (extra: string) =>
    `{"model":"test/echo","messages":[{"role":"user","content":"x"}],"response_format":${extra}}`
  assertError(await postRaw(stack.baseUrl, apiKey, body(deep(100_000))), 400, null)
  for (const model of ['test/deep-extra', 'test/deep-tools']) {
    assertError(await chat(stack.baseUrl, apiKey, { model }), 502, 'upstream_unavailable')
  }
  const metrics = await (await fetch(stack.metricsUrl)).text()
  assert.match(metrics, /^sluice_worker_restarts_total 0$/m)
})

test('a body with very many members or elements is rejected while other requests are served', async () => {
  const names = (count: number) => Array.from({ length: count }, (_, i) => `"m${i}":${i}`).join()
  const post = (path: string, body: string, key = '') => postTo(stack.baseUrl + path, key, body)
  const many = names(800_000)
  const under = (text: string) => `{"model":"test/echo","messages":[],"tools":[{"function":{"parameters":${text}}}]}`
  const watch = new HealthWatch(stack.baseUrl, itemOf(stack.workerPids, 0))
  const chatPath = '/v1/chat/completions'
  try {
    assertError(await post(chatPath, `{${many}}`, apiKey), 400, null)
    assertError(await post(chatPath, under(`{${many}}`), apiKey), 400, null)
    assertError(await post(chatPath, `[${'{"a":1},'.repeat(1_800_000)}{}]`, apiKey), 400, null)
    assertError(await post(`/x402${chatPath}`, under(`{${names(60_000)}}`)), 400, null)
    assertError(await post(`/x402${chatPath}`, `{"input":[${'1,'.repeat(400_000)}1]}`), 400, null)
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quote","arguments":{${names(60_000)}}}}`
    assert.equal((await post('/mcp', message)).status, 400)
  } finally {
    await watch.stop()
  }
  watch.assertResponsive()
})

test('a response compressed despite Accept-Encoding is decoded, buffered and streamed', async () => {
  const whole = completion(await chat(stack.baseUrl, apiKey, { model: 'test/gzip' }))
  const [choice] = whole['choices'] as { message: { content: string } }[]
  assert.deepEqual([choice?.message.content, whole.receipt.cost.units], ['hello', '20000'])
  const streamed = await chatStream(stack.baseUrl, apiKey, { model: 'test/gzip' })
  assert.deepEqual([streamedText(streamed), streamed.done, streamed.receipt?.cost.units], ['hello', true, '20000'])
  const refused = await chat(stack.baseUrl, apiKey, { model: 'test/br-error' })
  assert.match(assertError(refused, 400, 'upstream_rejected').message, /no such voice/)
})

test('a response with a false Content-Encoding, an unknown coding, or a decompression bomb is rejected', async () => {
  for (const model of ['test/no-gzip', 'test/zstd', 'test/gzip-bomb']) {
    for (const stream of [false, true]) {
      assertError(await chat(stack.baseUrl, apiKey, { model, stream }), 502, 'upstream_unavailable')
    }
  }
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/gzip-bomb-error' }), 429, 'rate_limited')
})

test('an error answer whose body does not come counts by its status, and the next route serves', async () => {
  const ask = (model: string, stream = false) => chat(stack.baseUrl, apiKey, { model, stream })
  const since = performance.now()
  // At once, because each waits for a deadline.
  const [whole, streamed, stalled, limited] = await Promise.all([
    ask('test/slow-errors'),
    ask('test/slow-errors', true),
    ask('test/error-stalls'),
    ask('test/error-trickles'),
  ])
  for (const reply of [whole, streamed]) {
    assert.equal(reply.status, 200, reply.text)
    assert.match(reply.text, /hello/)
  }
  assertError(stalled, 502, 'upstream_unavailable')
  assertError(limited, 429, 'rate_limited')
  assert.ok(performance.now() - since < 30_000)
})

test('bytes of a stream that are no UTF-8 reach its client as U+FFFD', async () => {
  const request = { model: 'test/not-utf8', messages: [{ role: 'user', content: 'hello' }] }
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, stream: true }),
  })
  const text = new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer())
  const stream = takeApart({ status: response.status, headers: response.headers, text })
  assert.equal(streamedText(stream), 'na\ufffdve caf\ufffd \ufffd\ufffd sound\u00e9\u754c fin\ufffd')
  assert.deepEqual([stream.done, stream.receipt?.cost.units], [true, '20000'])
  assert.match(text, /^: gar\ufffdon$/m)
  const whole = completion(await chat(stack.baseUrl, apiKey, request))
  assert.match(JSON.stringify(whole), /"caf\ufffd"/)
})

test('a missing count of output tokens is not zero', async () => {
  const { receipt } = completion(await chat(stack.baseUrl, apiKey, { model: 'test/no-output-count' }))
  assert.equal(receipt.usage_source, 'estimated')
  assert.ok(receipt.usage.completion_tokens >= 100)
})

test('a stream that contains only its usage ends, and is billed', async () => {
  const reply = await chatStream(stack.baseUrl, apiKey, { model: 'test/only-usage' })
  assert.equal(reply.status, 200)
  assert.ok(reply.done)
  assert.equal(reply.receipt?.cost.units, '20000')
})

test('the case of a content type does not matter', async () => {
  assert.ok((await chatStream(stack.baseUrl, apiKey, { model: 'test/upper-case' })).done)
})

/** Streams until `enough`, then leaves; gives the receipt. */
async function leaveWhen(model: string, enough: (text: string) => boolean): Promise<Receipt> {
  const call = request(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
  })
  const requestId = await new Promise<string>((resolve) => {
    let text = ''
    call.on('error', () => undefined)
    call.on('response', (response) => {
      response.on('error', () => undefined)
      response.on('data', (part: Buffer) => {
        text += part.toString()
        if (!enough(text)) return
        call.destroy()
        resolve(String(response.headers['x-request-id']))
      })
    })
    call.end(JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'hello' }] }))
  })
  return receiptOf(stack.baseUrl, apiKey, requestId)
}

test('disconnecting just before the usage report does not lower the charge', async () => {
  const receipt = await leaveWhen('test/late-usage', (text) => text.includes('"finish_reason":"stop"'))
  assert.deepEqual([receipt.usage_source, receipt.usage.completion_tokens], ['reported', 5_000])
})

test('usage reported before the output is not final', async () => {
  const receipt = await leaveWhen('test/early-usage', (text) => text.split(' tok').length > 30)
  assert.equal(receipt.usage_source, 'estimated')
  assert.ok(receipt.usage.completion_tokens >= 29)
})

test('a client that disconnects before any route has responded is not charged for a failed route', async () => {
  const call = request(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify({ model: 'test/failover', stream: true, messages: [{ role: 'user', content: MEGABYTE }] }))
  await until('the second route is asked', () => late.fail !== undefined)
  call.destroy()
  // A worker that answers has seen who left before it was asked.
  await (await fetch(`${stack.baseUrl}/health`)).arrayBuffer()
  late.fail?.()
  await stack.settled()
  const list = await fetch(`${stack.baseUrl}/v1/receipts?limit=1`, { headers: { authorization: `Bearer ${apiKey}` } })
  const [receipt] = ((await list.json()) as { data: Receipt[] }).data
  assert.deepEqual([receipt?.status, receipt?.cost.units], ['failed', '0'])
})
