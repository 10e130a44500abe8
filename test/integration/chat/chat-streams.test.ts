import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  assertError,
  chat,
  chatStream,
  completion,
  type ErrorBody,
  receiptOf,
  streamedText,
} from '../../support/clients/chatClient.ts'
import { itemOf } from '../../support/present.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const CHUNKS = 12
const WHOLE = [
  'eol=crlf',
  'eol=cr',
  'comments',
  'bom',
  'multiline',
  'split=1',
  'split=7',
  'batch=5',
  'donetext',
  'preamble=azure',
  'usage=finish',
  'usage=every',
  'usage=twice',
  'done=no',
  'bigevent=70000',
  'bigevent=1048576',
  'cached=3',
  'tool',
  'split=3,eol=crlf,bom',
  'comments,batch=3,eol=cr',
]
const BROKEN = ['cut=3', 'fin=3', 'hang=3', 'error_in_stream=3', 'badframe=3']
const USELESS = [
  'reset',
  'html200',
  'error=500',
  'error_in_stream=0',
  'cut=0',
  'fin=0',
  'error=401',
  'error=404',
  'error=503,err_body=html',
]
const UNREPORTED = ['usage=none', 'usage=negative', 'usage=fractional', 'usage=absurd', 'usage=null']
const REJECTED = ['openai', 'html', 'string', 'fastapi', 'vllm', 'empty']

const upstream = (behaviour: string) => `mock,chunks=${CHUNKS},${behaviour}`
const idOf = (behaviour: string) => `test/${behaviour.replaceAll(/[^a-z0-9]+/g, '-')}`
const single = (behaviour: string) => ({ id: idOf(behaviour), upstream: upstream(behaviour) })
const withSpare = (behaviour: string) => ({
  id: `${idOf(behaviour)}-spare`,
  routes: [
    { provider: 'mock', model: upstream(`${behaviour},prompt=999`) },
    { provider: 'mock', model: upstream('prompt=11') },
  ],
})

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { idleTimeoutMs: 6_000, firstByteTimeoutMs: 6_000, connectTimeoutMs: 3_000, breakerFailures: 100 },
    catalog: {
      models: [
        { id: 'test/plain', endpoints: ['chat', 'messages', 'responses'], upstream: upstream('prompt=11') },
        { id: 'test/steady', endpoints: ['chat', 'messages', 'responses'], upstream: upstream('delay=3') },
        { id: 'test/zero', upstream: upstream('usage=zero') },
        { id: 'test/over', upstream: upstream('prompt=5000,completion=5000') },
        { id: 'test/silent', upstream: upstream('slow_headers=20000') },
        { id: 'test/limited', upstream: upstream('error=429,retry_after=7') },
        { id: 'test/too-large', upstream: upstream('error=413') },
        ...REJECTED.map((body) => ({ id: `test/rejected-${body}`, upstream: upstream(`error=400,err_body=${body}`) })),
        ...[...WHOLE, ...BROKEN, ...UNREPORTED].map(single),
        ...USELESS.map(single),
        ...[...USELESS, 'error=429'].map(withSpare),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(() => stack.finish())

function assertChunks(reply: Awaited<ReturnType<typeof chatStream>>, model: string): void {
  const id = reply.headers.get('x-request-id')
  for (const event of reply.events) {
    if (event['error'] !== undefined) continue
    assert.equal(event['id'], id)
    assert.equal(event['model'], model)
    assert.equal(event['object'], 'chat.completion.chunk')
  }
}

for (const behaviour of WHOLE) {
  test(`a stream is passed on whole: ${behaviour}`, async () => {
    const model = idOf(behaviour)
    const reply = await chatStream(stack.baseUrl, apiKey, { model, stream_options: { include_usage: true } })
    assert.equal(reply.status, 200)
    assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/)
    assertChunks(reply, model)
    assert.ok(reply.done)
    assert.equal(reply.receipt?.status, 'ok')
    assert.equal(reply.receipt.usage_source, 'reported')
    const usages = reply.events.filter((event) => event['usage'] !== undefined && event['usage'] !== null)
    assert.equal(usages.length, 1)
    assert.deepEqual(itemOf(usages, 0)['choices'], [])
    assert.equal(usages[0], reply.events.at(-1))
    assert.equal(
      (itemOf(usages, 0)['usage'] as { completion_tokens: number }).completion_tokens,
      reply.receipt.usage.completion_tokens,
    )
    assertReconciled(reply.receipt, await stack.provider.log())
    const place = [
      reply.text.indexOf('"choices":[],"usage":{'),
      reply.text.indexOf(': receipt '),
      reply.text.indexOf('data: [DONE]\n\n'),
    ]
    if (behaviour !== 'donetext')
      assert.deepEqual(
        [...place].sort((a, b) => a - b),
        place,
      )
  })
}

test('without include_usage no chunk has usage, and every chunk has choices', async () => {
  for (const behaviour of ['usage=every', 'usage=finish', 'preamble=azure']) {
    const reply = await chatStream(stack.baseUrl, apiKey, { model: idOf(behaviour) })
    for (const event of reply.events) {
      assert.ok(!('usage' in event), behaviour)
      assert.equal((event['choices'] as unknown[]).length, 1, behaviour)
    }
    assert.equal(reply.receipt?.usage_source, 'reported')
  }
})

for (const behaviour of BROKEN) {
  test(`a stream that breaks is not shown as a success: ${behaviour}`, async () => {
    const reply = await chatStream(stack.baseUrl, apiKey, {
      model: idOf(behaviour),
      stream_options: { include_usage: true },
    })
    assert.equal(reply.status, 200)
    assertChunks(reply, idOf(behaviour))
    const { error } = reply.events.at(-1) as unknown as ErrorBody
    assert.equal(error.code, 'stream_interrupted')
    assert.ok(reply.done)
    assert.equal(reply.receipt?.status, 'partial')
    assert.equal(reply.receipt.usage_source, 'estimated')
    assert.equal(reply.receipt.usage.completion_tokens, 3)
    assert.ok(Number(reply.receipt.cost.units) >= 3 * 2_000)
    assert.ok(Number(reply.receipt.cost.units) < Number(reply.receipt.hold.units))
  })
}

for (const behaviour of USELESS) {
  for (const stream of [true, false]) {
    test(`a response without output is an error and is not charged: ${behaviour}, stream ${stream}`, async () => {
      if (!stream && /in_stream|cut|fin/.test(behaviour)) return
      const reply = await chat(stack.baseUrl, apiKey, { model: idOf(behaviour), stream })
      assertError(reply, 502, 'upstream_unavailable')
      const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
      assert.deepEqual([receipt.status, receipt.cost.units, receipt.error], ['failed', '0', 'upstream_unavailable'])
    })

    test(`fails over to another route: ${behaviour}, stream ${stream}`, async () => {
      if (!stream && /in_stream|cut|fin/.test(behaviour)) return
      const reply = await chatStream(stack.baseUrl, apiKey, {
        model: `${idOf(behaviour)}-spare`,
        stream,
        max_tokens: CHUNKS,
      })
      const receipt = stream ? reply.receipt : completion(reply).receipt
      assert.equal(receipt?.status, 'ok')
      assert.equal(receipt.usage.prompt_tokens, 11)
      if (stream) assert.ok(reply.done && streamedText(reply) !== '')
    })
  }
}

test('a 429 of the only route is passed on with its Retry-After, and with more routes it fails over', async () => {
  const limited = await chat(stack.baseUrl, apiKey, { model: 'test/limited' })
  assertError(limited, 429, 'rate_limited')
  assert.equal(limited.headers.get('retry-after'), '7')
  const cooling = await chat(stack.baseUrl, apiKey, { model: 'test/limited' })
  assertError(cooling, 429, 'rate_limited')
  const seconds = Number(cooling.headers.get('retry-after'))
  assert.ok(seconds >= 1 && seconds <= 7)
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/error-429-spare' }))
})

for (const body of REJECTED) {
  test(`a request that the provider rejects returns 400 to the client, for any error body: ${body}`, async () => {
    const error = assertError(
      await chat(stack.baseUrl, apiKey, { model: `test/rejected-${body}` }),
      400,
      'upstream_rejected',
    )
    assert.ok(!/[<>{}]/.test(error.message), error.message)
  })
}

test('a body that is too large for the provider returns 413', async () => {
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/too-large' }), 413, 'upstream_rejected')
})

test('a provider timeout returns 504', async () => {
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/silent' }), 504, 'upstream_timeout')
})

for (const behaviour of UNREPORTED) {
  for (const stream of [true, false]) {
    test(`usage that is missing or impossible is estimated: ${behaviour}, stream ${stream}`, async () => {
      const reply = await chatStream(stack.baseUrl, apiKey, { model: idOf(behaviour), stream })
      const receipt = stream ? reply.receipt : completion(reply).receipt
      assert.equal(receipt?.status, 'ok')
      assert.equal(receipt.usage_source, 'estimated')
      if (stream) assert.equal(receipt.usage.completion_tokens, CHUNKS)
      assert.ok(receipt.usage.completion_tokens > 0)
      assert.ok(Number(receipt.cost.units) > 0)
    })
  }
}

test('a reported usage of zero is zero', async () => {
  for (const stream of [true, false]) {
    const reply = await chatStream(stack.baseUrl, apiKey, { model: 'test/zero', stream })
    const receipt = stream ? reply.receipt : completion(reply).receipt
    assert.deepEqual([receipt?.cost.units, receipt?.usage_source], ['0', 'reported'])
  }
})

test('a charge above the hold is clamped and flagged', async () => {
  const { receipt } = completion(await chat(stack.baseUrl, apiKey, { model: 'test/over', max_tokens: 5 }))
  assert.equal(receipt.clamped, true)
  assert.equal(receipt.cost.units, receipt.hold.units)
})

test('x-cost-units equals the receipt, only on buffered responses', async () => {
  const whole = await chat(stack.baseUrl, apiKey, { model: 'test/plain' })
  assert.equal(whole.headers.get('x-cost-units'), completion(whole).receipt.cost.units)
  assert.equal(completion(whole)['id'], whole.headers.get('x-request-id'))
  assertReconciled(completion(whole).receipt, await stack.provider.log())
  const streamed = await chatStream(stack.baseUrl, apiKey, { model: 'test/plain' })
  assert.equal(streamed.headers.get('x-cost-units'), null)
})

test('streams of clients that send their bodies in chunks end with their own receipts', async () => {
  const message = { model: 'test/steady', max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'hello' }] }
  const asked: ReadonlyArray<readonly [path: string, body: Record<string, unknown>, ends: string]> = [
    ['chat/completions', message, 'data: [DONE]'],
    ['messages', message, 'event: message_stop'],
    ['responses', { model: 'test/steady', stream: true, input: 'hello' }, 'data: [DONE]'],
  ]
  const ask = async ([path, body, ends]: (typeof asked)[number]): Promise<void> => {
    const pieces = new Blob([JSON.stringify(body)]).stream()
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` }
    const asks: RequestInit = { method: 'POST', headers, body: pieces, duplex: 'half' }
    const response = await fetch(`${stack.baseUrl}/v1/${path}`, asks)
    const text = await response.text()
    assert.ok(text.includes(ends), text)
    const ids = [...text.matchAll(/req_[0-9A-Z]{26}/g)].map(String)
    assert.deepEqual([...new Set(ids)], [response.headers.get('x-request-id')])
  }
  const atOnce = asked.map(([path, body, ends]) => [path, { ...body, model: 'test/plain' }, ends] as const)
  const all = [...asked, ...atOnce]
  await Promise.all(Array.from({ length: 60 }, (_, i) => ask(itemOf(all, i % all.length))))
})
