import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { receiptOf } from '../support/clients/chatClient.ts'
import { receiptIn, thrownBy } from '../support/clients/officialClient.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const DIALECTS = ['openai', 'anthropic']
const MESSAGES: Anthropic.MessageParam[] = [{ role: 'user', content: 'hello' }]
const TOOLS: Anthropic.Tool[] = [
  {
    name: 'get_weather',
    description: 'Tells the weather',
    input_schema: { type: 'object', properties: { city: { type: 'string' } } },
  },
]
const ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/

let stack: Stack
let apiKey: string
let client: Anthropic
/** Requests that the client has sent, retries among them. */
let sent = 0

before(async () => {
  const upstreams = {
    plain: 'mock,prompt=90,cached=60',
    tool: 'mock,tool,chunks=5',
    thinking: 'mock,thinking=3',
    slow: 'mock,chunks=5000,delay=20',
    cut: 'mock,cut=3',
    down: 'mock,error=529',
    limited: 'mock,error=429,retry_after=30',
    counts: 'mock,prompt=4711',
  }
  stack = await startStack({
    limits: { breakerFailures: 100 },
    catalog: {
      providers: DIALECTS.map((dialect) => ({ id: dialect, dialect })),
      models: DIALECTS.flatMap((provider) =>
        Object.entries(upstreams).map(([name, model]) => ({
          id: `${provider}/${name}`,
          endpoints: ['messages'],
          routes: [{ provider, model }],
        })),
      ),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
  client = clientOf({ apiKey })
})

after(() => stack.finish())

interface Options {
  readonly apiKey?: string | null
  readonly authToken?: string
  readonly maxRetries?: number
  readonly defaultHeaders?: Record<string, string>
}

/** The official client with nothing but its address and its key changed; it counts what it sends. */
function clientOf(options: Options): Anthropic {
  const counted: typeof fetch = (input, init) => {
    sent++
    return fetch(input, init)
  }
  return new Anthropic({ baseURL: stack.baseUrl, fetch: counted, ...options })
}

for (const dialect of DIALECTS) {
  const ask = { model: `${dialect}/plain`, max_tokens: 100, messages: MESSAGES }

  describe(`over a provider of the ${dialect} dialect`, () => {
    test('a message in one piece', async () => {
      const { data, response, request_id } = await client.messages.create(ask).withResponse()
      assert.match(data.id, ID)
      assert.equal(data.id, request_id)
      assert.deepEqual(
        [data.type, data.role, data.model, data.stop_reason],
        ['message', 'assistant', ask.model, 'end_turn'],
      )
      const [block] = data.content
      assert.ok(block?.type === 'text')
      assert.match(block.text, /^ tok0.* tok15$/)
      const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = data.usage
      assert.deepEqual([input, cached, output], [30, 60, 16])
      assert.equal(response.headers.get('x-cost-units'), receiptIn(data).cost.units)
      assertReconciled(receiptIn(data), await stack.provider.log())
    })

    test('a streamed message, event by event, and accumulated by the helper', async () => {
      const types: string[] = []
      const raw = await client.messages.create({ ...ask, stream: true })
      for await (const event of raw) types.push(event.type)
      assert.deepEqual([types[0], types.at(-2), types.at(-1)], ['message_start', 'message_delta', 'message_stop'])
      const pieces: string[] = []
      const stream = client.messages.stream(ask).on('text', (piece) => pieces.push(piece))
      const final = await stream.finalMessage()
      assert.equal(pieces.length, 16)
      assert.equal(await stream.finalText(), pieces.join(''))
      assert.match(final.id, ID)
      assert.equal(final.id, stream.request_id)
      assert.deepEqual([final.model, final.stop_reason], [ask.model, 'end_turn'])
      assert.deepEqual([final.usage.input_tokens, final.usage.output_tokens], [30, 16])
      assertReconciled(await receiptOf(stack.baseUrl, apiKey, final.id), await stack.provider.log())
    })

    test('the receipt is a comment right before message_stop, which the client ignores', async () => {
      const raw = await client.messages.create({ ...ask, stream: true }).asResponse()
      assert.match(
        await raw.text(),
        /\n\n: receipt \{"object":"receipt".*\}\n\nevent: message_stop\ndata: \{[^\n]*\}\n\n$/,
      )
    })

    test('tools: in one piece, streamed, and the round with the result', async () => {
      const withTools = { ...ask, model: `${dialect}/tool`, tools: TOOLS }
      const whole = await client.messages.create(withTools)
      assert.equal(whole.stop_reason, 'tool_use')
      const [call] = whole.content
      assert.ok(call?.type === 'tool_use')
      assert.equal(call.name, 'get_weather')
      const streamed = await client.messages.stream(withTools).finalMessage()
      assert.deepEqual(streamed.content, whole.content)
      const next = await client.messages.create({
        ...withTools,
        model: `${dialect}/plain`,
        messages: [
          ...MESSAGES,
          { role: 'assistant', content: whole.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }] },
        ],
      })
      assert.equal(next.stop_reason, 'end_turn')
    })

    test('thinking is a separate block, and may be sent back', async () => {
      const thinking = { ...ask, model: `${dialect}/thinking` }
      const whole = await client.messages.create(thinking)
      const streamed = await client.messages.stream(thinking).finalMessage()
      assert.deepEqual(streamed.content, whole.content)
      assert.deepEqual(
        whole.content.map((block) => block.type),
        ['thinking', 'text'],
      )
      const again = await client.messages.create({
        ...thinking,
        messages: [...MESSAGES, { role: 'assistant', content: whole.content }, ...MESSAGES],
      })
      assert.equal(again.type, 'message')
    })

    test('tokens are counted', async () => {
      const { input_tokens: tokens } = await client.messages.countTokens({
        model: `${dialect}/counts`,
        messages: MESSAGES,
        system: 'be kind',
        tools: TOOLS,
      })
      if (dialect === 'anthropic') assert.equal(tokens, 4_711)
      else assert.ok(tokens > 20 && tokens < 200)
    })

    test('an error in the middle of a stream is thrown with its type', async () => {
      const pieces: string[] = []
      const error = await thrownBy(APIError, async () => {
        const stream = client.messages
          .stream({ ...ask, model: `${dialect}/cut` })
          .on('text', (piece) => pieces.push(piece))
        await stream.finalMessage()
      })
      assert.equal(pieces.length, 3)
      assert.deepEqual([error.type, Reflect.get(error.error as object, 'type')], ['upstream_error', 'error'])
      assert.match(error.message, /stream_interrupted/)
      assert.match(error.requestID ?? '', ID)
    })

    test('a stream that the client aborts is charged in part', async () => {
      const stream = client.messages.stream({ ...ask, model: `${dialect}/slow`, max_tokens: 5_000 })
      let pieces = 0
      stream.on('text', () => {
        if (++pieces === 5) stream.abort()
      })
      await assert.rejects(stream.finalMessage(), APIUserAbortError)
      const id = stream.request_id ?? ''
      await until('the receipt is there', async () => {
        const page = await fetch(`${stack.baseUrl}/v1/receipts/${id}`, { headers: { 'x-api-key': apiKey } })
        return page.status === 200
      })
      const receipt = await receiptOf(stack.baseUrl, apiKey, id)
      assert.equal(receipt.status, 'partial')
      assert.ok(receipt.usage.completion_tokens >= 3 && receipt.usage.completion_tokens < 4_000)
    })
  })
}

test('a key is accepted as x-api-key, as authToken, and as both', async () => {
  const ask = { model: 'anthropic/plain', max_tokens: 5, messages: MESSAGES }
  // The client itself sends one of the two.
  const both = (token: string) => ({
    apiKey,
    defaultHeaders: { 'x-api-key': apiKey, authorization: `Bearer ${token}` },
  })
  for (const options of [{ apiKey }, { apiKey: null, authToken: apiKey }, both(apiKey)]) {
    assert.match((await clientOf(options).messages.create(ask)).id, ID)
  }
  const error = await thrownBy(BadRequestError, () => clientOf(both('sk_other')).messages.create(ask))
  assert.equal(codeOf(error), 'payment_conflict')
})

test('the beta namespace calls the same endpoint', async () => {
  const answer = await client.beta.messages.create({
    model: 'anthropic/plain',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'hello' }],
    betas: ['context-1m-2025-08-07'],
  })
  assert.match(answer.id, ID)
})

test('models are listed for the client', async () => {
  const ids: string[] = []
  for await (const model of client.models.list()) ids.push(`${model.type} ${model.id}`)
  assert.ok(ids.includes('model anthropic/plain'))
})

const ERRORS: [
  kind: abstract new (...args: never[]) => APIError,
  body: object,
  status: number,
  code: string | null,
  type: string,
][] = [
  [BadRequestError, { temperature: 3 }, 400, null, 'invalid_request_error'],
  [BadRequestError, { max_tokens: 20_000 }, 400, 'context_length_exceeded', 'invalid_request_error'],
  [NotFoundError, { model: 'test/none' }, 404, 'model_not_found', 'invalid_request_error'],
  [PermissionDeniedError, { model: 'openai/plain' }, 403, 'model_not_allowed', 'permission_error'],
  [RateLimitError, { model: 'anthropic/limited' }, 429, 'rate_limited', 'rate_limit_error'],
  [InternalServerError, { model: 'anthropic/down' }, 502, 'upstream_unavailable', 'upstream_error'],
]

function codeOf(error: APIError): unknown {
  const { error: inner } = error.error as { error: { code: unknown } }
  return inner.code
}

for (const [kind, body, status, code, type] of ERRORS) {
  test(`the client throws ${kind.name} for ${status} ${code}`, async () => {
    const models = ['plain', 'limited', 'down'].flatMap((name) => ['--model', `anthropic/${name}`])
    const limited = clientOf({ apiKey: (await stack.createAccount({ args: models })).apiKey, maxRetries: 0 })
    const ask = { model: 'anthropic/plain', max_tokens: 100, messages: MESSAGES }
    const error = await thrownBy(kind, () => limited.messages.create({ ...ask, ...body }))
    assert.deepEqual([error.status, codeOf(error), error.type], [status, code, type])
    assert.match(error.requestID ?? '', ID)
  })
}

test('the client throws AuthenticationError for a key that does not exist', async () => {
  const stranger = clientOf({ apiKey: `sk_${'0'.repeat(43)}` })
  const error = await thrownBy(AuthenticationError, () =>
    stranger.messages.create({ model: 'anthropic/plain', max_tokens: 5, messages: MESSAGES }),
  )
  assert.deepEqual([error.status, codeOf(error)], [401, 'invalid_api_key'])
})

test('the client retries retryable errors and no others', async () => {
  const poor = clientOf({ apiKey: (await stack.createAccount({ credits: '0.00000001' })).apiKey, maxRetries: 3 })
  const ask = { max_tokens: 100, messages: MESSAGES }
  sent = 0
  const error = await thrownBy<APIError>(APIError, () => poor.messages.create({ model: 'anthropic/plain', ...ask }))
  assert.deepEqual([error.status, codeOf(error), sent], [402, 'insufficient_balance', 1])
  sent = 0
  const patient = clientOf({ apiKey, maxRetries: 1 })
  await thrownBy(InternalServerError, () => patient.messages.create({ model: 'anthropic/down', ...ask }))
  assert.equal(sent, 2)
})
