import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'
import type { Receipt } from '../support/clients/chatClient.ts'
import { receiptIn, thrownBy } from '../support/clients/officialClient.ts'
import { OpenaiClients } from '../support/clients/openaiClients.ts'
import { itemOf } from '../support/present.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack } from '../support/stack.ts'

const MODEL = 'test/small'
const MESSAGES: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hello' }]
const WEATHER = { type: 'object', properties: { city: { type: 'string' } } } as const
const ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/

let stack: Stack
let clients: OpenaiClients
let client: OpenAI

before(async () => {
  stack = await startStack({
    limits: { breakerFailures: 1, breakerOpenMs: 6_000, requestBurst: 5 },
    catalog: {
      models: [
        { id: MODEL },
        { id: 'test/other' },
        { id: 'test/long', upstream: 'mock,chunks=1000' },
        { id: 'test/slow', upstream: 'mock,chunks=5000,delay=20' },
        { id: 'test/tool', upstream: 'mock,tool,chunks=5' },
        { id: 'test/cut', upstream: 'mock,cut=3' },
        { id: 'test/down', upstream: 'mock,error=500' },
        { id: 'test/failing', upstream: 'mock,error=503' },
        { id: 'test/limited', upstream: 'mock,error=429,retry_after=30' },
      ],
    },
  })
  clients = new OpenaiClients(stack)
  client = await clients.create()
})

after(() => stack.finish())

test('a chat completion in one piece', async () => {
  const { data, response, request_id } = await client.chat.completions
    .create({ model: MODEL, messages: MESSAGES })
    .withResponse()
  assert.match(data.id, ID)
  assert.equal(data.id, request_id)
  assert.equal(data.object, 'chat.completion')
  assert.equal(data.model, MODEL)
  assert.equal(itemOf(data.choices, 0).message.role, 'assistant')
  assert.match(itemOf(data.choices, 0).message.content ?? '', /tok15$/)
  assert.equal(itemOf(data.choices, 0).finish_reason, 'stop')
  assert.equal(data.usage?.completion_tokens, 16)
  assert.equal(response.headers.get('x-cost-units'), receiptIn(data).cost.units)
  assertReconciled(receiptIn(data), await stack.provider.log())
})

test('a streamed chat completion, chunk by chunk, with usage last if requested', async () => {
  for (const include_usage of [true, false]) {
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: MESSAGES,
      stream: true,
      stream_options: { include_usage },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const ids = new Set(chunks.map((chunk) => chunk.id))
    assert.equal(ids.size, 1)
    assert.match(itemOf([...ids], 0), ID)
    assert.ok(chunks.every((chunk) => chunk.model === MODEL && chunk.object === 'chat.completion.chunk'))
    const last = itemOf(chunks, chunks.length - 1)
    assert.equal(last.usage?.completion_tokens, include_usage ? 16 : undefined)
    assert.equal(last.choices.length, include_usage ? 0 : 1)
  }
})

test('the comment with the receipt is in the stream, and the client ignores it', async () => {
  const call = client.chat.completions.create({ model: MODEL, messages: MESSAGES, stream: true })
  const { data: stream, response } = await call.withResponse()
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  assert.ok(chunks.every((chunk) => chunk.object === 'chat.completion.chunk'))
  const raw = await client.chat.completions.create({ model: MODEL, messages: MESSAGES, stream: true }).asResponse()
  assert.match(await raw.text(), /\n\n: receipt \{"object":"receipt".*\}\n\ndata: \[DONE\]\n\n$/)
  assert.equal(response.headers.get('content-type'), raw.headers.get('content-type'))
})

test('the stream helper accumulates the response and its usage', async () => {
  const stream = client.chat.completions.stream({
    model: MODEL,
    messages: MESSAGES,
    stream_options: { include_usage: true },
  })
  const final = await stream.finalChatCompletion()
  const usage = await stream.totalUsage()
  assert.match(itemOf(final.choices, 0).message.content ?? '', /^ tok0.* tok15$/)
  assert.deepEqual([usage.completion_tokens, final.usage?.completion_tokens], [16, 16])
})

test('a stream of 1,000 chunks arrives whole', async () => {
  const stream = await client.chat.completions.create({ model: 'test/long', messages: MESSAGES, stream: true })
  let pieces = 0
  for await (const chunk of stream) if (itemOf(chunk.choices, 0).delta.content) pieces++
  assert.equal(pieces, 1_000)
})

test('tools: in one piece, streamed, and run by the client', async () => {
  const withTools = await clients.create()
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'get_weather', parameters: WEATHER } },
  ]
  const whole = await withTools.chat.completions.create({ model: 'test/tool', messages: MESSAGES, tools })
  const [call] = itemOf(whole.choices, 0).message.tool_calls ?? []
  assert.equal(itemOf(whole.choices, 0).finish_reason, 'tool_calls')
  assert.ok(call?.type === 'function')
  assert.equal(call?.function.name, 'get_weather')
  const city = (JSON.parse(call?.function.arguments) as { city: string }).city
  const streamed = await withTools.chat.completions
    .stream({ model: 'test/tool', messages: MESSAGES, tools })
    .finalChatCompletion()
  assert.deepEqual(itemOf(streamed.choices, 0).message.tool_calls?.[0]?.function.arguments, call?.function.arguments)

  const seen: string[] = []
  const getWeather = (input: { city: string }) => {
    seen.push(input.city)
    return 'sunny'
  }
  const runner = withTools.chat.completions.runTools(
    {
      model: 'test/tool',
      messages: MESSAGES,
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Tells the weather',
            parse: JSON.parse as (text: string) => { city: string },
            parameters: WEATHER,
            function: getWeather,
          },
        },
      ],
    },
    // The model of this test always asks for the tool, so somebody has to end it.
    { maxChatCompletions: 2 },
  )
  await runner.done()
  assert.deepEqual(seen, [city, city])
  assert.deepEqual(
    runner.messages.map((message) => message.role),
    ['user', 'assistant', 'tool', 'assistant', 'tool'],
  )
})

test('models are listed, and one with a slash in its name is found', async () => {
  const ids: string[] = []
  for await (const model of client.models.list()) ids.push(model.id)
  assert.ok(ids.includes(MODEL))
  const model = await client.models.retrieve(MODEL)
  assert.deepEqual([model.id, model.object, model.owned_by], [MODEL, 'model', 'test'])
  assert.ok(Number.isInteger(model.created))
  const error = await thrownBy(NotFoundError, () => client.models.retrieve('test/none'))
  assert.equal(error.code, 'model_not_found')
})

const ERRORS: [
  kind: abstract new (...args: never[]) => APIError,
  body: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>,
  status: number,
  code: string | null,
  type: string,
  param: string | null,
][] = [
  [BadRequestError, { temperature: 3 }, 400, null, 'invalid_request_error', 'temperature'],
  [BadRequestError, { max_tokens: 99_999 }, 400, 'context_length_exceeded', 'invalid_request_error', 'max_tokens'],
  [NotFoundError, { model: 'test/none' }, 404, 'model_not_found', 'invalid_request_error', 'model'],
  [PermissionDeniedError, { model: 'test/other' }, 403, 'model_not_allowed', 'permission_error', 'model'],
  [RateLimitError, { model: 'test/limited' }, 429, 'rate_limited', 'rate_limit_error', null],
  [InternalServerError, { model: 'test/down' }, 502, 'upstream_unavailable', 'upstream_error', null],
]

for (const [kind, body, status, code, type, param] of ERRORS) {
  test(`the client throws ${kind.name} for ${status} ${code}`, async () => {
    const allowed = [MODEL, 'test/limited', 'test/down'].flatMap((id) => ['--model', id])
    const limited = await clients.create(allowed, { maxRetries: 0 })
    const error = await thrownBy(kind, () =>
      limited.chat.completions.create({ model: MODEL, messages: MESSAGES, ...body }),
    )
    assert.deepEqual([error.status, error.code, error.type, error.param], [status, code, type, param])
    assert.match(error.requestID ?? '', ID)
    assert.match(error.message, new RegExp(`^${status} \\w`))
  })
}

test('the client throws AuthenticationError for a key that does not exist', async () => {
  const stranger = clients.of(`sk_${'0'.repeat(43)}`)
  const error = await thrownBy(AuthenticationError, () =>
    stranger.chat.completions.create({ model: MODEL, messages: MESSAGES }),
  )
  assert.deepEqual([error.status, error.code, error.type], [401, 'invalid_api_key', 'authentication_error'])
})

test('an error in the middle of a stream is thrown', async () => {
  const stream = await client.chat.completions.create({ model: 'test/cut', messages: MESSAGES, stream: true })
  let pieces = 0
  const error = await thrownBy(APIError, async () => {
    for await (const chunk of stream) if (itemOf(chunk.choices, 0).delta.content) pieces++
  })
  assert.equal(pieces, 3)
  assert.equal(error.code, 'stream_interrupted')
  assert.match(error.requestID ?? '', ID)
})

test('a stream that the client aborts is charged in part', async () => {
  const aborting = await clients.create()
  const stream = await aborting.chat.completions.create({ model: 'test/slow', messages: MESSAGES, stream: true })
  let id = ''
  let pieces = 0
  for await (const chunk of stream) {
    id = chunk.id
    if (++pieces === 5) stream.controller.abort()
  }
  const receipt = await receiptAfter(aborting, id)
  assert.equal(receipt.status, 'partial')
  assert.ok(receipt.usage.completion_tokens >= 3 && receipt.usage.completion_tokens < 4_000)
})

test('a request that the client aborts ends with its own error', async () => {
  const aborting = await clients.create()
  const error = await thrownBy(APIUserAbortError, () =>
    aborting.chat.completions.create(
      { model: 'test/slow', messages: MESSAGES, max_tokens: 500 },
      { signal: AbortSignal.timeout(30) },
    ),
  )
  assert.equal(error.status, undefined)
})

/** Reads a receipt through the client; until the gateway has noticed the end of the request there is none. */
async function receiptAfter(reader: OpenAI, id: string): Promise<Receipt> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await reader.get<Receipt>(`/receipts/${id}`)
    } catch (error) {
      if (!(error instanceof NotFoundError) || attempts === 30) throw error
    }
  }
}

test('receipts are read through the client, with their place in the log', async () => {
  const own = await clients.create()
  const completion = await own.chat.completions.create({ model: MODEL, messages: MESSAGES })
  const receipt = await own.get<Receipt>(`/receipts/${completion.id}`)
  const { log, ...rest } = receipt
  assert.deepEqual(rest, receiptIn(completion))
  assert.ok((log?.position ?? -1) >= 0)
  const page = await own.get<{ data: Receipt[] }>('/receipts')
  assert.deepEqual(
    page.data.map((entry) => entry.request_id),
    [completion.id],
  )
})

test('a member that the client does not know names other models, and the answer says which served', async () => {
  const request = { model: 'test/failing', models: ['test/other'], messages: MESSAGES }
  const { data, response } = await client.chat.completions.create(request).withResponse()
  assert.deepEqual([data.model, response.headers.get('x-served-model')], ['test/other', 'test/other'])
  const chunks: string[] = []
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) chunks.push(chunk.model)
  assert.deepEqual([...new Set(chunks)], ['test/other'])
})
