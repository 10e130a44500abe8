// Goal: a request is a span below the span of its client, its attempts are spans below it, and all of them keep to the
// conventions; failures are exported whatever the sampler says; a receiver that hangs or is away costs no request anything and
// a bounded number of spans; a proxy that stops exports what waits.
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { after, before, test } from 'node:test'
import { completion, postTo, takeApart } from '../../support/clients/chatClient.ts'
import { OtlpReceiver } from '../../support/otlpReceiver.ts'
import { ScriptedProvider } from '../../support/providers/scriptedProvider.ts'
import { type Stack, startStack, until, untilSame } from '../../support/stack.ts'
import { CLIENT_SPAN, conventionalSpans, newContext, value, values } from '../../support/traceClient.ts'

const M = 'test/small'
const QUEUE_SPANS = 64
const ERROR = 'STATUS_CODE_ERROR'

/** The headers of the requests that the scripted provider got. */
const seen: IncomingHttpHeaders[] = []
let receiver: OtlpReceiver
let scripted: ScriptedProvider
let stack: Stack
let apiKey: string
let accountId: string

before(async () => {
  receiver = await OtlpReceiver.start()
  scripted = await ScriptedProvider.start({
    seen: (response, _body, { headers }) => {
      seen.push(headers)
      response.writeHead(400).end('{"error":{"message":"no"}}')
    },
  })
  stack = await startStack({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      // Traces that begin here are not exported, so that a test sees those that it asks for alone.
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
      OTEL_BSP_MAX_QUEUE_SIZE: String(QUEUE_SPANS),
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
    limits: { breakerFailures: 1_000, traceStopMs: 10_000, traceRetryMs: 10 },
    catalog: {
      providers: [
        { id: 'mock' },
        { id: 'second' },
        { id: 'tracing', base_url: scripted.url, trace_context: true },
        { id: 'blind', base_url: scripted.url },
      ],
      models: [
        { id: M },
        { id: 'test/cut', upstream: 'mock,cut=3' },
        { id: 'test/down', upstream: 'mock,error=500' },
        { id: 'test/slow', upstream: 'mock,chunks=2000,delay=20' },
        {
          id: 'test/two',
          routes: [
            { provider: 'mock', model: 'mock,error=500' },
            { provider: 'second', model: 'chat-small' },
          ],
        },
        { id: 'test/traced', routes: [{ provider: 'tracing', model: 'seen' }] },
        { id: 'test/blind', routes: [{ provider: 'blind', model: 'seen' }] },
        { id: 'test/fallback', upstream: 'mock,error=503', fallbacks: [{ model: M, on: ['unavailable'] }] },
      ],
    },
  })
  // Without the setting of the proxy it changes nothing: the tests name the attributes that spans have.
  ;({ apiKey, accountId } = await stack.createAccount({ args: ['--capture-content'] }))
})
after(async () => {
  await Promise.all([receiver.stop(), scripted.stop()])
  await stack.finish()
})

const idOf = ({ headers }: { readonly headers: Headers }): string => headers.get('x-request-id') ?? assert.fail('no id')
const ask = (model: string, headers = {}, more = {}, key = apiKey) =>
  postTo(
    `${stack.baseUrl}/v1/chat/completions`,
    key,
    JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...more }),
    headers,
  )
/** The spans of a request, each of which keeps to the conventions. */
const spansOf = (id: string, count: number) => conventionalSpans(receiver, id, count)

test('a request is a span below that of its client, with the figures of its receipt', async () => {
  for (const stream of [false, true]) {
    const { traceId, headers } = newContext()
    const reply = await ask(M, headers, { stream })
    const receipt = stream ? (takeApart(reply).receipt ?? assert.fail()) : completion(reply).receipt
    const [own, attempt, ...more] = await spansOf(idOf(reply), 2)
    assert.ok(attempt !== undefined && more.length === 0)
    assert.deepEqual([own.traceId, own.parentSpanId, own.traceState], [traceId, CLIENT_SPAN, 'vendor=1'])
    // Sampled, and its parent is known to be elsewhere.
    assert.deepEqual([own.flags, attempt.flags], [0x301, 0x101])
    assert.equal(own.name, 'POST /v1/chat/completions')
    assert.equal(attempt.name, 'chat chat-small')
    const { attributes } = own
    assert.ok(Number(attributes['sluice.admission.duration']?.value) > 0)
    const shown = Object.fromEntries(Object.entries(attributes).map(([name, seen]) => [name, seen.value]))
    const { 'sluice.admission.duration': _a, 'sluice.first_byte.duration': _f, 'sluice.key.id': key, ...rest } = shown
    assert.match(String(key), /^key_/)
    assert.deepEqual(rest, {
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'url.path': '/v1/chat/completions',
      'url.scheme': 'http',
      'http.response.status_code': 200,
      'sluice.request.id': receipt.request_id,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mock',
      'gen_ai.request.model': M,
      'sluice.account.id': accountId,
      'sluice.request.status': 'ok',
      'sluice.request.streamed': stream,
      'sluice.charge.units': Number(receipt.cost.units),
      'sluice.hold.units': Number(receipt.hold.units),
      'sluice.attempts': 1,
      'gen_ai.usage.input_tokens': receipt.usage.prompt_tokens,
      'gen_ai.usage.output_tokens': receipt.usage.completion_tokens,
    })
    const { port } = new URL(stack.provider.url())
    assert.deepEqual(
      values(attempt, ['gen_ai.request.model', 'server.address', 'server.port', 'http.response.status_code']),
      ['chat-small', '127.0.0.1', Number(port), 200],
    )
    const { value: service } = own.resource['service.name'] ?? assert.fail()
    assert.deepEqual([service, own.resource['deployment.environment.name']?.value], ['sluice', 'test'])
  }
  assert.ok(receiver.headers.every((headers) => headers['x-tenant'] === 'a b'))
})

test('each attempt has its span, over routes and over models', async () => {
  const two = await ask('test/two', newContext().headers)
  const [own, first, second] = await spansOf(idOf(two), 3)
  assert.ok(first !== undefined && second !== undefined)
  assert.deepEqual(values(own, ['sluice.attempts', 'gen_ai.provider.name']), [2, 'second'])
  const names = ['gen_ai.provider.name', 'error.type', 'http.response.status_code', 'sluice.attempt.number']
  assert.deepEqual(values(first, names), ['mock', '500', 500, 1])
  assert.deepEqual(values(second, names), ['second', undefined, 200, 2])
  assert.deepEqual([own.status, first.status, second.status], ['', ERROR, ''])
  // Usage is of the attempt that served.
  assert.equal(value(first, 'gen_ai.usage.output_tokens'), undefined)
  assert.equal(value(second, 'gen_ai.usage.output_tokens'), value(own, 'gen_ai.usage.output_tokens'))
  const fallen = await ask('test/fallback', newContext().headers)
  const [request, ...attempts] = await spansOf(idOf(fallen), 3)
  assert.equal(value(request, 'gen_ai.request.model'), M)
  assert.deepEqual(
    attempts.map((attempt) => [attempt.name, value(attempt, 'error.type')]),
    [
      ['chat mock,error=503', '503'],
      ['chat chat-small', undefined],
    ],
  )
})

test('refusals have a span, which is no error of the gateway', async () => {
  const poor = await stack.createAccount({ credits: '0.00000001' })
  const [route, path] = ['POST /v1/chat/completions', '/v1/nothing']
  const { headers } = newContext()
  const refused: [reply: Awaited<ReturnType<typeof ask>>, name: string, status: number, code: string][] = [
    [await ask(M, headers, {}, poor.apiKey), route, 402, 'insufficient_balance'],
    [await ask(M, headers, {}, 'sk-none'), route, 401, 'invalid_api_key'],
    [await ask('test/unknown', headers), route, 404, 'model_not_found'],
    [await postTo(`${stack.baseUrl}${path}`, apiKey, '{}', headers), 'POST', 404, 'not_found'],
  ]
  for (const [reply, name, status, code] of refused) {
    const [own] = await spansOf(idOf(reply), 1)
    const shown = [own.name, ...values(own, ['http.response.status_code', 'sluice.error.code', 'error.type'])]
    assert.deepEqual([reply.status, own.status, ...shown], [status, '', name, status, code, undefined])
  }
})

test('a key beyond its rate has a span with 429', async () => {
  const slow = await stack.createAccount()
  await stack.cli('account', 'update', slow.accountId, '--rpm', '1')
  await ask(M, {}, {}, slow.apiKey)
  const refused = await ask(M, newContext().headers, {}, slow.apiKey)
  const [own] = await spansOf(idOf(refused), 1)
  assert.deepEqual([refused.status, value(own, 'http.response.status_code'), own.status], [429, 429, ''])
})

test('a fault is exported although its trace is not sampled; what goes well is not', async () => {
  for (const headers of [{}, newContext(false).headers]) {
    const quiet = await ask(M, headers)
    const down = await ask('test/down', headers)
    const [own, attempt] = await spansOf(idOf(down), 2)
    assert.ok(attempt !== undefined)
    assert.deepEqual([own.status, value(own, 'error.type')], [ERROR, 'upstream_unavailable'])
    assert.deepEqual(values(own, ['http.response.status_code', 'sluice.request.status']), [down.status, 'failed'])
    // The flag says what the sampler decided.
    assert.equal(own.flags & 1, 0)
    assert.equal(own.parentSpanId, 'traceparent' in headers ? CLIENT_SPAN : '')
    const cut = await ask('test/cut', headers, { stream: true })
    const [broken] = await spansOf(idOf(cut), 2)
    assert.deepEqual([broken.status, value(broken, 'error.type')], [ERROR, 'stream_interrupted'])
    assert.ok(!receiver.spans.some((span) => value(span, 'sluice.request.id') === idOf(quiet)))
  }
})

test('a malformed context begins a trace of its own, which the sampler decides', async () => {
  const { traceId, headers } = newContext()
  const down = await ask('test/down', { ...headers, traceparent: `${headers['traceparent']}-more` })
  const [own] = await spansOf(idOf(down), 2)
  assert.notEqual(own.traceId, traceId)
  assert.deepEqual([own.parentSpanId, own.traceState, own.flags], ['', '', 0x100])
})

test('a provider gets the context where the catalog says so, and nothing of it elsewhere', async () => {
  for (const isSampled of [true, false]) {
    const { traceId, headers } = newContext(isSampled)
    const passed = await ask('test/traced', { ...headers, baggage: 'user=1' })
    const [own, attempt] = await spansOf(idOf(passed), 2)
    const { traceparent, tracestate, baggage } = seen.pop() ?? assert.fail()
    assert.equal(traceparent, `00-${traceId}-${attempt?.spanId}-0${isSampled ? 1 : 0}`)
    assert.deepEqual([own.traceId, tracestate, baggage], [traceId, 'vendor=1', undefined])
  }
  await ask('test/traced')
  const { traceparent, tracestate } = seen.pop() ?? assert.fail()
  assert.match(String(traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  assert.equal(tracestate, undefined)
  const { headers } = newContext()
  await ask('test/blind', headers)
  const names = Object.keys(seen.pop() ?? assert.fail())
  assert.deepEqual(
    names.filter((name) => /^(trace|baggage)/.test(name)),
    [],
  )
})

test('a client that leaves is no error', async () => {
  const controller = new AbortController()
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...newContext().headers },
    body: JSON.stringify({ model: 'test/slow', stream: true, messages: [{ role: 'user', content: 'x' }] }),
    signal: controller.signal,
  })
  await response.body?.getReader().read()
  controller.abort()
  const [own, attempt] = await spansOf(idOf(response), 2)
  const shown = values(own, ['sluice.request.status', 'sluice.error.code', 'error.type'])
  assert.deepEqual([own.status, attempt?.status, ...shown], ['', '', 'partial', 'client_gone', undefined])
})

/** The spans that were counted so far. */
async function counted(): Promise<Record<string, number>> {
  const text = await (await fetch(stack.metricsUrl)).text()
  const found = [...text.matchAll(/^sluice_trace_spans_total\{outcome="(\w+)"\} (\d+)$/gm)]
  return Object.fromEntries(found.map(([, outcome, count]) => [outcome, Number(count)]))
}

test('a receiver that fails is asked again; spans that it refuses are counted', async () => {
  const { failed: before = 0 } = await untilSame('the counts are known', counted)
  const { exports } = receiver
  receiver.mode = 503
  const sent = await ask(M, newContext().headers)
  await until('a second try', () => receiver.exports > exports + 1)
  receiver.mode = 'take'
  await spansOf(idOf(sent), 2)
  receiver.rejects = 1
  await spansOf(idOf(await ask(M, newContext().headers)), 2)
  receiver.rejects = 0
  await until('the refused span is counted', async () => (await counted())['failed'] === before + 1)
  receiver.mode = 400
  await ask(M, newContext().headers)
  await until('the failed export is counted', async () => (await counted())['failed'] === before + 3)
  receiver.mode = 'take'
})

test('a receiver that hangs costs no request anything, and spans beyond the bound are dropped', async () => {
  const [{ dropped: before = 0, exported = 0 }, { exports }] = [await untilSame('they are known', counted), receiver]
  receiver.mode = 'hang'
  const replies = await Promise.all(Array.from({ length: QUEUE_SPANS }, () => ask(M, newContext().headers)))
  assert.ok(replies.every(({ status }) => status === 200))
  await until('spans are dropped', async () => (await counted())['dropped'] === before + QUEUE_SPANS)
  assert.ok(receiver.exports <= exports + 1, 'one export runs at a time')
  receiver.release()
  await until('the queue has room again', async () => (await counted())['exported'] === exported + QUEUE_SPANS)
  await spansOf(idOf(await ask(M, newContext().headers)), 2)
})

test('a proxy that stops exports what waits', async () => {
  receiver.mode = 'hang'
  const { exports } = receiver
  const held = await ask(M, newContext().headers)
  await until('an export', () => receiver.exports > exports)
  const waiting = await ask(M, newContext().headers)
  const stopping = stack.proxy.sigterm()
  receiver.release()
  assert.equal(await stopping, 0)
  for (const reply of [held, waiting]) await spansOf(idOf(reply), 2)
  await stack.proxy.start()
  await stack.ready()
})
