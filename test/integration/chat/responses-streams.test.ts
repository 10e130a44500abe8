import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, chat, chatStream, completion, receiptOf } from '../../support/clients/chatClient.ts'
import {
  outputText,
  post,
  type ResponseObject,
  readResponseStream,
  responseOf,
} from '../../support/clients/responsesClient.ts'
import { itemOf } from '../../support/present.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const CHUNKS = 12
const WHOLE = [
  '',
  'eol=crlf',
  'comments',
  'bom',
  'multiline',
  'split=1',
  'split=7,eol=cr',
  'batch=5',
  'donetext',
  'preamble=azure',
  'usage=finish',
  'usage=every',
  'usage=twice',
  'done=no',
  'finish=no',
  'cached=3',
  'cached=3,cache_write=2',
  'reasoning=5',
  'tool',
  'thinking=4',
  'thinking=2,tool',
  'refuse',
]
const BROKEN = ['cut=3', 'fin=3', 'hang=3', 'error_in_stream=3', 'badframe=3', 'tool,cut=3', 'thinking=5,fin=3']
const USELESS = ['reset', 'html200', 'error=500', 'error_in_stream=0', 'cut=0', 'fin=0', 'error=401', 'error=404']
const BIG = 'bigevent=1000000'
const UNREPORTED = ['usage=none', 'usage=negative', 'usage=absurd', 'usage=null']

const upstream = (behaviour: string) => `mock,chunks=${CHUNKS}${behaviour === '' ? '' : `,${behaviour}`}`
const idOf = (behaviour: string) => `test/${behaviour.replaceAll(/[^a-z0-9]+/g, '-') || 'plain'}`
const served = (behaviour: string) => ({ id: idOf(behaviour), upstream: upstream(behaviour), endpoints: ENDPOINTS })
const ENDPOINTS = ['chat', 'responses']

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { idleTimeoutMs: 6_000, firstByteTimeoutMs: 6_000, connectTimeoutMs: 3_000, breakerFailures: 100 },
    catalog: {
      models: [
        ...[...WHOLE, ...BROKEN, ...UNREPORTED, ...USELESS, 'error=413', 'error=400', 'usage=zero', BIG].map(served),
        ...USELESS.map((behaviour) => ({
          id: `${idOf(behaviour)}-spare`,
          endpoints: ENDPOINTS,
          routes: [
            { provider: 'mock', model: upstream(`${behaviour},prompt=999`) },
            { provider: 'mock', model: upstream('prompt=11') },
          ],
        })),
        { id: 'test/over', upstream: upstream('prompt=5000,completion=5000'), endpoints: ENDPOINTS },
        { id: 'test/limited', upstream: upstream('error=429,retry_after=7'), endpoints: ENDPOINTS },
        { id: 'test/silent', upstream: upstream('slow_headers=20000'), endpoints: ENDPOINTS },
        { id: 'test/chat-only', endpoints: ['chat'] },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(() => stack.finish())

const create = (body: Record<string, unknown>) =>
  post(stack.baseUrl, '/v1/responses', apiKey, { input: 'hello', ...body })
const stream = async (body: Record<string, unknown>) => readResponseStream(await create({ stream: true, ...body }))

/** What must be the same however a response was delivered. */
function contents({ output, usage, status, incomplete_details: why }: ResponseObject): unknown {
  const items = output.map(({ id: _, ...item }) => item)
  return { items, usage, status, why }
}

for (const behaviour of WHOLE) {
  test(`a response is the same streamed, whole, and as a chat: ${behaviour}`, async () => {
    const model = idOf(behaviour)
    const streamed = await stream({ model })
    const whole = responseOf(await create({ model }))
    assert.deepEqual(contents(streamed.response), contents(whole))
    assert.equal(whole.status, 'completed')
    assert.equal(streamed.response.id, streamed.headers.get('x-request-id'))
    assert.equal(streamed.receipt?.status, 'ok')
    assert.equal(streamed.receipt.usage_source, 'reported')
    const log = await stack.provider.log()
    assertReconciled(streamed.receipt, log)
    assertReconciled(whole.receipt, log)
    const asChat = await chatStream(stack.baseUrl, apiKey, { model })
    assert.equal(asChat.receipt?.status, 'ok', JSON.stringify(asChat))
    assert.equal(asChat.receipt.cost.units, streamed.receipt.cost.units)
    assert.equal(whole.receipt.cost.units, streamed.receipt.cost.units)
    assert.equal(whole.usage?.input_tokens, asChat.receipt.usage.prompt_tokens)
    assert.equal(whole.usage.output_tokens, asChat.receipt.usage.completion_tokens)
  })
}

test('the events of a text arrive in the order of the format', async () => {
  const { events, types, text } = await stream({ model: idOf('') })
  const deltas = Array.from({ length: CHUNKS }, () => 'response.output_text.delta')
  assert.deepEqual(types, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    ...deltas,
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  assert.deepEqual(itemOf(events, 0).response?.output, [])
  assert.equal(itemOf(events, 0).response?.usage, null)
  assert.match(text, /\n\n: receipt \{"object":"receipt".*\}\n\ndata: \[DONE\]\n\n$/)
})

test('a text of a megabyte in one event is passed on whole', async () => {
  const { response, receipt } = await stream({ model: idOf(BIG) })
  assert.match(outputText(response), /^ tok0x{900000}x+ tok1/)
  assertReconciled(receipt ?? assert.fail(), await stack.provider.log())
})

test('thoughts, a refusal, a call: each has its items and events', async () => {
  const thinking = await stream({ model: idOf('thinking=4') })
  assert.deepEqual(
    thinking.response.output.map(({ type }) => type),
    ['reasoning', 'message'],
  )
  assert.equal(itemOf(thinking.response.output, 0).summary?.[0]?.text, ' thought0 thought1 thought2 thought3')
  assert.equal(thinking.types.filter((type) => type === 'response.reasoning_summary_text.delta').length, 4)

  const refusing = await stream({ model: idOf('refuse') })
  assert.match(itemOf(refusing.response.output, 0).content?.[0]?.refusal ?? '', /^ tok0/)
  assert.ok(refusing.types.includes('response.refusal.done'))

  const calling = await stream({ model: idOf('tool') })
  const [call] = calling.response.output
  assert.equal(call?.type, 'function_call')
  assert.equal(call?.name, 'get_weather')
  assert.match(call?.call_id ?? '', /^call_/)
  assert.ok('city' in (JSON.parse(call?.arguments ?? '') as object))
  assert.ok(calling.types.includes('response.function_call_arguments.done'))
})

test('a response that reaches its limit is incomplete', async () => {
  const { response, types } = await stream({ model: idOf(''), max_output_tokens: 5 })
  const whole = responseOf(await create({ model: idOf(''), max_output_tokens: 5 }))
  for (const answer of [response, whole]) {
    assert.equal(answer.status, 'incomplete')
    assert.deepEqual(answer.incomplete_details, { reason: 'max_output_tokens' })
    assert.equal(answer.max_output_tokens, 5)
    assert.equal(answer.usage?.output_tokens, 5)
    assert.equal(itemOf(answer.output, 0).status, 'incomplete')
  }
  assert.equal(types.at(-1), 'response.incomplete')
})

test('cached, written and reasoning tokens are shown and billed', async () => {
  const { usage, receipt } = responseOf(await create({ model: idOf('cached=3,cache_write=2') }))
  assert.deepEqual(usage?.input_tokens_details, { cached_tokens: 3, cache_write_tokens: 2 })
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
  const uncached = usage.input_tokens - 3
  assert.equal(receipt.cost.units, String(uncached * 1_000 + 3 * 500 + usage.output_tokens * 2_000))
  const thinking = responseOf(await create({ model: idOf('reasoning=5') }))
  assert.equal(thinking.usage?.output_tokens_details.reasoning_tokens, 5)
})

for (const behaviour of BROKEN) {
  test(`a stream that breaks is not shown as a success: ${behaviour}`, async () => {
    const { events, types, response, receipt } = await stream({ model: idOf(behaviour) })
    assert.deepEqual(types.slice(-2), ['error', 'response.failed'])
    const error = itemOf(events, events.length - 2)
    assert.equal(error['code'], 'stream_interrupted')
    assert.equal((error['error'] as { code: string }).code, 'stream_interrupted')
    assert.equal(response.status, 'failed')
    assert.equal(response.error?.code, 'stream_interrupted')
    assert.equal(response.output.at(-1)?.status, 'incomplete')
    assert.equal(receipt?.status, 'partial')
    assert.equal(receipt.usage_source, 'estimated')
    assert.equal(response.usage?.output_tokens, receipt.usage.completion_tokens)
    assert.ok(receipt.usage.completion_tokens >= 3)
    assert.ok(Number(receipt.cost.units) > 0 && Number(receipt.cost.units) < Number(receipt.hold.units))
  })
}

for (const behaviour of USELESS) {
  test(`a response without output is not charged and fails over to another route: ${behaviour}`, async () => {
    for (const streamed of [true, false]) {
      if (!streamed && /in_stream|cut|fin/.test(behaviour)) continue
      const reply = await create({ model: idOf(behaviour), stream: streamed })
      assertError(reply, 502, 'upstream_unavailable')
      const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
      assert.deepEqual([receipt.status, receipt.cost.units], ['failed', '0'])
      const spared = await create({ model: `${idOf(behaviour)}-spare`, stream: streamed })
      const response = streamed ? readResponseStream(spared).response : responseOf(spared)
      assert.equal(response.usage?.input_tokens, 11)
      assert.match(outputText(response), /^ tok0.* tok11$/)
    }
  })
}

for (const behaviour of UNREPORTED) {
  test(`usage that is missing or impossible is estimated as in a chat: ${behaviour}`, async () => {
    const model = idOf(behaviour)
    const { receipt } = await stream({ model })
    assert.equal(receipt?.usage_source, 'estimated')
    assert.equal(receipt.cost.units, (await chatStream(stack.baseUrl, apiKey, { model })).receipt?.cost.units)
    const whole = responseOf(await create({ model }))
    assert.equal(whole.receipt.cost.units, completion(await chat(stack.baseUrl, apiKey, { model })).receipt.cost.units)
  })
}

test('a request that the provider rejects is rejected, and not charged', async () => {
  const refused: [model: string, status: number, code: string][] = [
    [idOf('error=400'), 400, 'upstream_rejected'],
    [idOf('error=413'), 413, 'upstream_rejected'],
    ['test/silent', 504, 'upstream_timeout'],
    ['test/limited', 429, 'rate_limited'],
  ]
  for (const [model, status, code] of refused) {
    const reply = await create({ model, stream: true })
    assertError(reply, status, code)
    const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
    assert.equal(receipt.cost.units, '0')
  }
  // Its provider is left alone, and not asked.
  assertError(await create({ model: 'test/limited', stream: true }), 429, 'rate_limited')
  assertError(await create({ model: 'test/chat-only' }), 400, 'wrong_endpoint', 'model')
})

test('a charge above the hold is clamped, and a usage of zero is zero', async () => {
  const { receipt } = responseOf(await create({ model: 'test/over', max_output_tokens: 5 }))
  assert.equal(receipt.clamped, true)
  assert.equal(receipt.cost.units, receipt.hold.units)
  assert.equal((await stream({ model: idOf('usage=zero') })).receipt?.cost.units, '0')
})

test('responses are not stored and cannot be retrieved', async () => {
  const { id } = responseOf(await create({ model: idOf('') }))
  const headers = { authorization: `Bearer ${apiKey}` }
  assert.equal((await fetch(`${stack.baseUrl}/v1/responses/${id}`, { headers })).status, 404)
  assert.equal((await fetch(`${stack.baseUrl}/v1/responses`, { headers })).status, 405)
})
