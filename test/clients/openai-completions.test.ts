import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError, BadRequestError } from 'openai'
import type { Receipt } from '../support/clients/chatClient.ts'
import { itemOf } from '../support/present.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack } from '../support/stack.ts'

const MODEL = 'test/text'
const ENDPOINTS = ['completions']
const ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/

let stack: Stack
let client: OpenAI

before(async () => {
  stack = await startStack({
    catalog: {
      models: [
        { id: MODEL, endpoints: ENDPOINTS },
        { id: 'test/cut', endpoints: ENDPOINTS, upstream: 'mock,cut=3' },
        { id: 'test/chat', endpoints: ['chat'] },
      ],
    },
  })
  const { apiKey } = await stack.createAccount()
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})

after(() => stack.finish())

test('a text completion in one piece', async () => {
  const call = client.completions.create({ model: MODEL, prompt: 'Once', max_tokens: 8, echo: true })
  const { data, response, request_id } = await call.withResponse()
  assert.match(data.id, ID)
  assert.equal(data.id, request_id)
  assert.deepEqual([data.object, data.model], ['text_completion', MODEL])
  assert.deepEqual(
    [itemOf(data.choices, 0).text, itemOf(data.choices, 0).finish_reason],
    ['Once tok0 tok1 tok2 tok3 tok4 tok5 tok6 tok7', 'length'],
  )
  assert.equal(data.usage?.completion_tokens, 8)
  const receipt = Reflect.get(data, 'receipt') as Receipt
  assert.equal(response.headers.get('x-cost-units'), receipt.cost.units)
  assertReconciled(receipt, await stack.provider.log())
})

test('a streamed text completion, with usage last if requested', async () => {
  for (const include_usage of [true, false]) {
    const body = { model: MODEL, prompt: ['Once'], stream: true, stream_options: { include_usage } } as const
    const { data: stream, request_id } = await client.completions
      .create({ ...body, prompt: [...body.prompt] })
      .withResponse()
    const chunks: OpenAI.Completion[] = []
    for await (const chunk of stream) chunks.push(chunk)
    assert.ok(
      chunks.every(({ id, object, model }) => id === request_id && object === 'text_completion' && model === MODEL),
    )
    assert.match(chunks.map((chunk) => chunk.choices[0]?.text ?? '').join(''), /^ tok0.* tok15$/)
    const last = itemOf(chunks, chunks.length - 1)
    assert.deepEqual([last.choices.length, last.usage?.completion_tokens], include_usage ? [0, 16] : [1, undefined])
  }
})

test('errors have the classes of the client, before and in a stream', async () => {
  const refused: [body: Partial<OpenAI.CompletionCreateParamsNonStreaming>, code: string | null, param: string][] = [
    [{ prompt: ['a', 'b'] }, null, 'prompt'],
    [{ n: 2 }, null, 'n'],
    [{ model: 'test/chat' }, 'wrong_endpoint', 'model'],
  ]
  for (const [body, code, param] of refused) {
    await assert.rejects(client.completions.create({ model: MODEL, prompt: 'x', ...body }), (error) => {
      assert.ok(error instanceof BadRequestError)
      assert.deepEqual([error.code, error.param], [code, param])
      return true
    })
  }
  const stream = await client.completions.create({ model: 'test/cut', prompt: 'x', stream: true })
  let text = ''
  await assert.rejects(
    async () => {
      for await (const chunk of stream) text += itemOf(chunk.choices, 0).text
    },
    (error) => error instanceof APIError && error.code === 'stream_interrupted',
  )
  assert.equal(text, ' tok0 tok1 tok2')
})
