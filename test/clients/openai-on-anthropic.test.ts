import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError, BadRequestError, InternalServerError } from 'openai'
import type { Receipt } from '../support/clients/chatClient.ts'
import { itemOf } from '../support/present.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack } from '../support/stack.ts'

const MESSAGES: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hello' }]
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } } as const

let stack: Stack
let client: OpenAI

before(async () => {
  const upstreams = {
    plain: 'mock,prompt=90,cached=60',
    tool: 'mock,tool,chunks=5',
    round: 'mock,round,chunks=5',
    thinking: 'mock,thinking=3',
    object: 'mock,chunks=1,text={"city":"Paris"}',
    cut: 'mock,error_in_stream=3',
    down: 'mock,error=529',
    rejects: 'mock,error=400',
  }
  stack = await startStack({
    limits: { breakerFailures: 100 },
    catalog: {
      providers: [{ id: 'anthropic', dialect: 'anthropic' }],
      models: Object.entries(upstreams).map(([name, model]) => ({
        id: `test/${name}`,
        routes: [{ provider: 'anthropic', model }],
      })),
    },
  })
  const { apiKey } = await stack.createAccount({ credits: '100' })
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})

after(() => stack.finish())

test('in one piece and streamed, with usage', async () => {
  const whole = await client.chat.completions.create({ model: 'test/plain', messages: MESSAGES })
  assert.match(itemOf(whole.choices, 0).message.content ?? '', /^ tok0.* tok15$/)
  assert.deepEqual([whole.model, itemOf(whole.choices, 0).finish_reason], ['test/plain', 'stop'])
  assert.deepEqual([whole.usage?.prompt_tokens, whole.usage?.prompt_tokens_details?.cached_tokens], [90, 60])
  assertReconciled(Reflect.get(whole, 'receipt') as Receipt, await stack.provider.log())
  for (const include_usage of [true, false]) {
    const stream = await client.chat.completions.create({
      model: 'test/plain',
      messages: MESSAGES,
      stream: true,
      stream_options: { include_usage },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    assert.equal(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.created} ${chunk.model}`)).size, 1)
    assert.equal(itemOf(itemOf(chunks, 0).choices, 0).delta.role, 'assistant')
    assert.equal(chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.finish_reason !== null).length, 1)
    const last = itemOf(chunks, chunks.length - 1)
    assert.deepEqual([last.usage?.prompt_tokens, last.choices.length], include_usage ? [90, 0] : [undefined, 1])
  }
})

test('the stream helper accumulates text, thinking apart, and usage', async () => {
  const stream = client.chat.completions.stream({
    model: 'test/thinking',
    messages: MESSAGES,
    stream_options: { include_usage: true },
  })
  const final = await stream.finalChatCompletion()
  assert.match(itemOf(final.choices, 0).message.content ?? '', /^ tok0.* tok15$/)
  assert.equal((await stream.totalUsage()).completion_tokens, 16)
})

test('tools: in one piece, streamed, and run by the client to the end', async () => {
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'get_weather', parameters: PARAMETERS } },
  ]
  const ask = { model: 'test/tool', messages: MESSAGES, tools }
  const whole = await client.chat.completions.create(ask)
  const [call] = itemOf(whole.choices, 0).message.tool_calls ?? []
  assert.equal(itemOf(whole.choices, 0).finish_reason, 'tool_calls')
  assert.ok(call?.type === 'function')
  const streamed = await client.chat.completions.stream(ask).finalChatCompletion()
  const [again] = itemOf(streamed.choices, 0).message.tool_calls ?? []
  assert.deepEqual(
    [again?.id, again?.function.name, JSON.parse(again?.function.arguments ?? '')],
    [call?.id, call?.function.name, JSON.parse(call?.function.arguments)],
  )
  const seen: string[] = []
  const runner = client.chat.completions.runTools({
    model: 'test/round',
    messages: MESSAGES,
    stream: true,
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'Tells the weather',
          parse: JSON.parse as (text: string) => { city: string },
          parameters: PARAMETERS,
          function: (input: { city: string }) => {
            seen.push(input.city)
            return 'sunny'
          },
        },
      },
    ],
  })
  assert.equal(await runner.finalContent(), ' tok0 tok1 tok2 tok3 tok4')
  assert.match(seen.join(), /^Paris/)
})

test('an answer by a schema is parsed', async () => {
  const completion = await client.chat.completions.parse({
    model: 'test/object',
    messages: MESSAGES,
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema: PARAMETERS } },
  })
  assert.deepEqual(JSON.parse(itemOf(completion.choices, 0).message.content ?? ''), { city: 'Paris' })
})

test('errors before and within a stream', async () => {
  await assert.rejects(client.chat.completions.create({ model: 'test/down', messages: MESSAGES }), InternalServerError)
  await assert.rejects(client.chat.completions.create({ model: 'test/rejects', messages: MESSAGES }), BadRequestError)
  const stream = await client.chat.completions.create({ model: 'test/cut', messages: MESSAGES, stream: true })
  let pieces = 0
  const reading = async () => {
    for await (const chunk of stream) if (itemOf(chunk.choices, 0).delta.content) pieces++
  }
  await assert.rejects(reading(), (error) => error instanceof APIError && error.code === 'stream_interrupted')
  assert.equal(pieces, 3)
})
