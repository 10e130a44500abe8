import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import type { Receipt } from '../support/clients/chatClient.ts'
import { receiptIn, thrownBy } from '../support/clients/officialClient.ts'
import { itemOf } from '../support/present.ts'
import type { ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { startWeatherProvider, WEATHER_USAGE } from '../support/providers/weatherProvider.ts'
import { assertReconciled, chargeOf } from '../support/reconcile.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const MODEL = 'test/small'
const ENDPOINTS = ['responses']
const ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/
const CITY = z.object({ city: z.string() })
const WEATHER: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

let stack: Stack
let weather: ScriptedProvider
let client: OpenAI

before(async () => {
  weather = await startWeatherProvider()
  stack = await startStack({
    limits: { breakerFailures: 1, breakerOpenMs: 1_000 },
    catalog: {
      providers: [{ id: 'mock' }, { id: 'weather', base_url: weather.url }],
      models: [
        { id: MODEL, endpoints: ENDPOINTS },
        { id: 'test/other', endpoints: ENDPOINTS },
        { id: 'test/json', endpoints: ENDPOINTS, upstream: 'mock,chunks=1,text={"city":"Paris"}' },
        { id: 'test/echo', endpoints: ENDPOINTS, upstream: 'mock,echo' },
        { id: 'test/think', endpoints: ENDPOINTS, upstream: 'mock,thinking=3,chunks=3,reasoning=3' },
        { id: 'test/refuse', endpoints: ENDPOINTS, upstream: 'mock,refuse' },
        { id: 'test/cut', endpoints: ENDPOINTS, upstream: 'mock,cut=3' },
        { id: 'test/slow', endpoints: ENDPOINTS, upstream: 'mock,chunks=5000,delay=20' },
        { id: 'test/down', endpoints: ENDPOINTS, upstream: 'mock,error=500' },
        { id: 'test/limited', endpoints: ENDPOINTS, upstream: 'mock,error=429,retry_after=30' },
        ...['weather', 'chatty', 'two'].map((model) => ({
          id: `test/${model}`,
          endpoints: ENDPOINTS,
          routes: [{ provider: 'weather', model }],
        })),
      ],
    },
  })
  client = await newClient()
})

after(async () => {
  await stack.finish()
  await weather.stop()
})

async function newClient(args: readonly string[] = []): Promise<OpenAI> {
  const { apiKey } = await stack.createAccount({ args })
  return new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
}

test('a response in one piece', async () => {
  const call = client.responses.create({ model: MODEL, input: 'hello', instructions: 'Be brief.' })
  const { data, response, request_id } = await call.withResponse()
  assert.match(data.id, ID)
  assert.equal(data.id, request_id)
  assert.deepEqual([data.object, data.status, data.model], ['response', 'completed', MODEL])
  assert.equal(data.instructions, 'Be brief.')
  assert.match(data.output_text, /^ tok0.* tok15$/)
  assert.equal(data.usage?.output_tokens, 16)
  assert.equal(response.headers.get('x-cost-units'), receiptIn(data).cost.units)
  assertReconciled(receiptIn(data), await stack.provider.log())
})

test('a streamed response, event by event and accumulated by the client', async () => {
  const stream = await client.responses.create({ model: MODEL, input: 'hello', stream: true })
  let text = ''
  let last: OpenAI.Responses.ResponseStreamEvent | undefined
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') text += event.delta
    last = event
  }
  assert.ok(last?.type === 'response.completed', JSON.stringify(last))
  assert.match(text, /^ tok0.* tok15$/)
  assertReconciled(receiptIn(last.response), await stack.provider.log())

  const helper = client.responses.stream({ model: MODEL, input: 'hello' })
  let snapshot = ''
  helper.on('response.output_text.delta', (event) => {
    snapshot = event.snapshot
  })
  const final = await helper.finalResponse()
  assert.deepEqual([snapshot, final.output_text, final.status], [text, text, 'completed'])
  assert.equal(final.usage?.output_tokens, 16)
  assertReconciled(receiptIn(final), await stack.provider.log())
})

function isCall(item: OpenAI.Responses.ResponseOutputItem): item is OpenAI.Responses.ResponseFunctionToolCall {
  return item.type === 'function_call'
}

for (const model of ['test/weather', 'test/chatty', 'test/two']) {
  for (const streamed of [false, true]) {
    test(`a round of tool calls with the whole history sent back: ${model}, streamed ${streamed}`, async () => {
      const ask = (input: OpenAI.Responses.ResponseInput): Promise<OpenAI.Responses.Response> => {
        const body = { model, input, tools: [WEATHER], store: false }
        return streamed ? client.responses.stream(body).finalResponse() : client.responses.create(body)
      }
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'How is the weather?' }]
      const first = await ask(input)
      const calls = first.output.filter(isCall)
      assert.deepEqual(
        calls.map((call) => [call.call_id, CITY.parse(JSON.parse(call.arguments)).city]),
        [['call_1', 'Paris'], ...(model === 'test/two' ? [['call_2', 'Rome']] : [])],
      )
      assert.equal(first.output_text, model === 'test/chatty' ? 'Let me see.' : '')
      const outputs = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'sunny' }) as const)
      const second = await ask([...input, ...(first.output as OpenAI.Responses.ResponseInput), ...outputs])
      assert.equal(second.output_text, 'It is sunny.')
      for (const response of [first, second]) {
        assert.equal(receiptIn(response).cost.units, String(chargeOf(WEATHER_USAGE)))
        assert.equal(response.usage?.total_tokens, WEATHER_USAGE.total_tokens)
      }
    })
  }
}

test('answers by a schema, and arguments by one, are parsed', async () => {
  const text = { format: zodTextFormat(CITY, 'place') }
  const whole = await client.responses.parse({ model: 'test/json', input: 'Where?', text })
  assert.deepEqual(whole.output_parsed, { city: 'Paris' })
  const streamed = await client.responses.stream({ model: 'test/json', input: 'Where?', text }).finalResponse()
  assert.deepEqual(streamed.output_parsed, { city: 'Paris' })
  const tools = [zodResponsesFunction({ name: 'get_weather', parameters: CITY })]
  const { output } = await client.responses.parse({ model: 'test/weather', input: 'x', tools })
  const first = itemOf(output, 0)
  assert.ok(first.type === 'function_call')
  assert.deepEqual(first.parsed_arguments, { city: 'Paris' })
})

test('images, effort and schemas reach the provider', async () => {
  const image_url = 'data:image/png;base64,iVBORw0KGgo='
  const response = await client.responses.create({
    model: 'test/echo',
    input: [{ role: 'user', content: [{ type: 'input_image', image_url, detail: 'high' }] }],
    reasoning: { effort: 'low' },
    text: { format: zodTextFormat(CITY, 'place') },
  })
  const { body } = JSON.parse(response.output_text) as { body: Record<string, unknown> }
  assert.deepEqual(body['messages'], [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: image_url, detail: 'high' } }] },
  ])
  assert.equal(body['reasoning_effort'], 'low')
  const { json_schema } = body['response_format'] as { json_schema: { name: string; strict: boolean } }
  assert.deepEqual([json_schema.name, json_schema.strict], ['place', true])
})

test('thoughts, a refusal, an answer that met its limit', async () => {
  const thinking = await client.responses.stream({ model: 'test/think', input: 'x' }).finalResponse()
  const thoughts = itemOf(thinking.output, 0)
  assert.ok(thoughts.type === 'reasoning')
  assert.equal(itemOf(thoughts.summary, 0).text, ' thought0 thought1 thought2')
  assert.equal(thinking.output_text, ' tok0 tok1 tok2')
  assert.equal(thinking.usage?.output_tokens_details.reasoning_tokens, 3)
  const refusing = await client.responses.stream({ model: 'test/refuse', input: 'x' }).finalResponse()
  const refusal = itemOf(refusing.output, 0)
  assert.ok(refusal.type === 'message' && itemOf(refusal.content, 0).type === 'refusal')
  const short = await client.responses.stream({ model: MODEL, input: 'x', max_output_tokens: 4 }).finalResponse()
  assert.deepEqual([short.status, short.incomplete_details?.reason], ['incomplete', 'max_output_tokens'])
  assert.equal(short.output_text, ' tok0 tok1 tok2 tok3')
})

const ERRORS: [
  kind: abstract new (...args: never[]) => APIError,
  body: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>,
  status: number,
  code: string | null,
  param: string | null,
][] = [
  [BadRequestError, { temperature: 3 }, 400, null, 'temperature'],
  [BadRequestError, { previous_response_id: 'resp_1' }, 400, 'unsupported_parameter', 'previous_response_id'],
  [BadRequestError, { max_output_tokens: 99_999 }, 400, 'context_length_exceeded', 'max_output_tokens'],
  [NotFoundError, { model: 'test/none' }, 404, 'model_not_found', 'model'],
  [PermissionDeniedError, { model: 'test/other' }, 403, 'model_not_allowed', 'model'],
  [RateLimitError, { model: 'test/limited' }, 429, 'rate_limited', null],
  [InternalServerError, { model: 'test/down' }, 502, 'upstream_unavailable', null],
]

test('errors have the classes of the client', async () => {
  const limited = await newClient([MODEL, 'test/limited', 'test/down'].flatMap((id) => ['--model', id]))
  for (const [kind, body, status, code, param] of ERRORS) {
    for (const stream of [false, true]) {
      // A provider that has just failed is left alone for a moment.
      if (stream && status > 404) continue
      const error = await thrownBy(kind, () =>
        limited.responses.create({ model: MODEL, input: 'hello', ...body, stream }),
      )
      assert.deepEqual([error.status, error.code, error.param], [status, code, param])
      assert.match(error.requestID ?? '', ID)
    }
  }
  const stranger = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: `sk_${'0'.repeat(43)}` })
  const error = await thrownBy(AuthenticationError, () => stranger.responses.create({ model: MODEL, input: 'x' }))
  assert.equal(error.code, 'invalid_api_key')
})

test('an error in the middle of a stream is thrown, by the helper too', async () => {
  let text = ''
  const error = await thrownBy(APIError, async () => {
    const stream = await client.responses.create({ model: 'test/cut', input: 'x', stream: true })
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
  })
  assert.equal(text, ' tok0 tok1 tok2')
  assert.deepEqual([error.code, error.type], ['stream_interrupted', 'upstream_error'])
  const helper = await thrownBy(APIError, () =>
    client.responses.stream({ model: 'test/cut', input: 'x' }).finalResponse(),
  )
  assert.equal(helper.code, 'stream_interrupted')
})

test('a stream that the client aborts is charged in part', async () => {
  const stream = await client.responses.create({ model: 'test/slow', input: 'x', stream: true })
  let id = ''
  let pieces = 0
  for await (const event of stream) {
    if (event.type === 'response.created') id = event.response.id
    if (event.type === 'response.output_text.delta' && ++pieces === 5) stream.controller.abort()
  }
  let receipt: Receipt | undefined
  await until('the end of the request is booked', async () => {
    receipt = await client.get<Receipt>(`/receipts/${id}`).catch(() => undefined)
    return receipt !== undefined
  })
  assert.equal(receipt?.status, 'partial')
  assert.ok(receipt.usage.completion_tokens >= 3 && receipt.usage.completion_tokens < 4_000)
})
