import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { messages, messagesStream } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { itemOf } from '../support/present.ts'
import { type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const CONTEXT = 8_000
const MODEL = 'test/turns'

/** What a provider says of a full context, and what a client of the Messages format is told. */
const ROWS: readonly (readonly [said: string, told: string])[] = [
  [
    "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens. Please reduce the length of the messages.",
    'prompt is too long: 5000 tokens > 4096 maximum',
  ],
  [
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
    'input length and `max_tokens` exceed context limit: 4000 + 1000 > 4096, decrease input length or `max_tokens` and try again',
  ],
  [
    "This model's maximum context length is 131,072 tokens. However, you requested 140,000 tokens (139,000 in the messages, 1,000 in the completion).",
    'prompt is too long: 139000 tokens > 131072 maximum',
  ],
  [
    "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 tokens and your request has 3900 input tokens (1000 > 4096 - 3900).",
    'input length and `max_tokens` exceed context limit: 3900 + 1000 > 4096, decrease input length or `max_tokens` and try again',
  ],
  ['prompt is too long: 210000 tokens > 200000 maximum', 'prompt is too long: 210000 tokens > 200000 maximum'],
  [
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
  ],
  [
    'The request (5000 tokens) exceeds the available context size (4096 tokens), the context window is full.',
    'prompt is too long: 5000 tokens > 4096 maximum',
  ],
  ['Your input exceeds the context window of this model.', 'prompt is too long: 8001 tokens > 8000 maximum'],
]

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start(({ body }): Turn => {
    const { content } = (body['messages'] as { content: unknown }[]).at(-1) ?? {}
    if (content === 'hello') return { text: 'ok' }
    return {
      refusal: { status: 400, body: { error: { message: content, type: 'invalid_request_error', code: null } } },
    }
  })
  stack = await startStack({
    catalog: {
      providers: [{ id: 'turns', base_url: provider.url }],
      models: [
        {
          id: MODEL,
          endpoints: ['chat', 'messages', 'responses'],
          context: CONTEXT,
          max_output: 1_000,
          routes: [{ provider: 'turns', model: 'm' }],
        },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

interface Refusal {
  readonly error: { message: string; code: string }
}

describe('a full context is reported in the words by which agents shorten the conversation', () => {
  for (const [said, told] of ROWS) {
    for (const stream of [false, true]) {
      test(`${stream ? 'streamed: ' : ''}${said}`, async () => {
        const body = { model: MODEL, stream, messages: [{ role: 'user', content: said }] }
        const reply = await messages(stack.baseUrl, apiKey, body)
        const { error } = JSON.parse(reply.text) as Refusal
        assert.deepEqual([reply.status, error.code, error.message], [400, 'context_length_exceeded', told])
      })
    }
  }

  test('a prompt that cannot fit is refused in the same words', async () => {
    const content = 'word '.repeat(20_000)
    const reply = await messages(stack.baseUrl, apiKey, { model: MODEL, messages: [{ role: 'user', content }] })
    assert.equal((JSON.parse(reply.text) as Refusal).error.message, 'prompt is too long: 12500 tokens > 8000 maximum')
  })

  test('a limit above the model’s is refused with the model’s', async () => {
    const reply = await messages(stack.baseUrl, apiKey, { model: MODEL, max_tokens: 2_000 })
    const { message } = (JSON.parse(reply.text) as Refusal).error
    const words = 'max_tokens: 2000 > 1000, which is the maximum allowed number of output tokens for this model'
    assert.deepEqual([reply.status, message], [400, words])
  })

  test('clients of Responses and chat read the code', async () => {
    const said = ROWS[0]?.[0]
    for (const [path, body] of [
      ['/v1/responses', { input: said }],
      ['/v1/chat/completions', { messages: [{ role: 'user', content: said }] }],
    ] as const) {
      const reply = await post(stack.baseUrl, path, apiKey, { model: MODEL, ...body })
      const { error } = JSON.parse(reply.text) as Refusal
      assert.equal(error.code, 'context_length_exceeded')
      assert.match(error.message, /maximum context length is 4096 tokens/)
    }
  })
})

test('the beginning of a stream shows how long the prompt is', async () => {
  const { events, answer } = await messagesStream(stack.baseUrl, apiKey, {
    model: MODEL,
    system: 'x'.repeat(400),
  })
  const { usage } = itemOf(events, 0)['message'] as { usage: { input_tokens: number } }
  assert.ok(usage.input_tokens >= 100 && usage.input_tokens < 200, String(usage.input_tokens))
  assert.equal(answer.usage.input_tokens, 100)
})
