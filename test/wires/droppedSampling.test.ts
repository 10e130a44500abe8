// Goal: options of sampling that a request to a provider of the Anthropic dialect is written without are named to the client,
// and no others. One row a combination of options, for clients of every format, as a stream and in one piece.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

const HEAT = { temperature: 0.7 }
const BOTH = { ...HEAT, top_p: 0.9 }
const ALL = { ...BOTH, top_k: 5 }
const NAMES = ['temperature', 'top_p', 'top_k']

interface Row {
  readonly given: object
  readonly thinks?: true
  readonly sent: object
}

const ROWS: readonly Row[] = [
  { given: {}, sent: {} },
  { given: HEAT, sent: HEAT },
  { given: { top_p: 0.9 }, sent: { top_p: 0.9 } },
  { given: BOTH, sent: HEAT },
  { given: ALL, sent: { ...HEAT, top_k: 5 } },
  { given: { top_p: 0.9, top_k: 5 }, sent: { top_p: 0.9, top_k: 5 } },
  // The format takes none of them while a model thinks.
  { given: {}, thinks: true, sent: {} },
  { given: HEAT, thinks: true, sent: {} },
  { given: BOTH, thinks: true, sent: {} },
  { given: ALL, thinks: true, sent: {} },
]

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  stack = await startStack({
    catalog: {
      providers: [{ id: 'anthropic', dialect: 'anthropic', base_url: provider.url }],
      models: [
        {
          id: 'test/thinker',
          endpoints: ['chat', 'messages', 'responses'],
          thinking: 'effort',
          routes: [{ provider: 'anthropic', model: 'm' }],
        },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const model = 'test/thinker'
const FORMATS = {
  chat: (given: object, thinks: boolean) =>
    chat(stack.baseUrl, apiKey, { model, messages: [HELLO], ...given, ...(thinks && { reasoning_effort: 'low' }) }),
  responses: (given: object, thinks: boolean) => {
    const body = { model, input: 'hi', ...given, ...(thinks && { reasoning: { effort: 'low' } }) }
    return post(stack.baseUrl, '/v1/responses', apiKey, body)
  },
}

for (const [format, ask] of Object.entries(FORMATS)) {
  describe(`clients of ${format}`, () => {
    for (const { given, thinks = false, sent } of ROWS) {
      // Responses have no top_k, which is named as unknown there.
      if (format === 'responses' && 'top_k' in given) continue
      for (const stream of [false, true]) {
        test(`${JSON.stringify(given)}${thinks ? ', thinking' : ''}, stream ${stream}`, async () => {
          const reply = await ask({ ...given, stream }, thinks)
          assert.equal(reply.status, 200)
          const { body } = provider.last
          assert.deepEqual(
            Object.fromEntries(NAMES.flatMap((name) => (name in body ? [[name, body[name]]] : []))),
            sent,
          )
          const dropped = NAMES.filter((name) => name in given && !(name in sent))
          assert.equal(reply.headers.get('x-dropped-parameters'), dropped.length === 0 ? null : dropped.join(', '))
        })
      }
    }
  })
}

test('next to other members, and of a large request', async () => {
  const messages = [{ role: 'user', content: 'long text '.repeat(40_000) }]
  const others = { seed: 1, foo: 1, min_p: 0.1, repetition_penalty: 1.1 }
  const reply = await chat(stack.baseUrl, apiKey, { model, messages, ...BOTH, ...others })
  assert.equal(reply.headers.get('x-dropped-parameters'), 'foo, seed, min_p, repetition_penalty, top_p')
})

test('clients of Messages have both sent, as they wrote them', async () => {
  const reply = await messages(stack.baseUrl, apiKey, { model, messages: [HELLO], ...ALL })
  assert.deepEqual({ ...provider.last.body, ...ALL }, provider.last.body)
  assert.equal(reply.headers.get('x-dropped-parameters'), null)
})
