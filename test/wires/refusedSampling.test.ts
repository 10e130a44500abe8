// Goal: a model that takes no temperature answers clients that send one, which most packages do, and they learn that it had no
// effect. One row a sentence of a provider (The-PR-Agent/pr-agent 2456, SalesforceAIResearch/MCP-Universe 49, OpenAI).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

const SENTENCES = [
  '`temperature` is deprecated for this model.',
  '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
  "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
  "Unsupported parameter: 'top_p' is not supported with this model.",
]
const NAMES = ['temperature', 'top_p', 'top_k', 'presence_penalty', 'frequency_penalty']

let stack: Stack
let provider: TurnProvider
let apiKey: string
let sentence = ''

before(async () => {
  provider = await TurnProvider.start(({ body, path }) =>
    NAMES.some((name) => name in body) ? refusal(sentence, path) : { text: 'ok' },
  )
  stack = await startStack({
    catalog: turnCatalog(provider.url),
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

for (const dialect of OVER) {
  const model = `test/${dialect}`
  describe(`a model of the dialect ${dialect} that draws its answers by itself`, () => {
    for (const said of SENTENCES) {
      test(said, async () => {
        sentence = said
        const drawn = { model, temperature: 0.7, top_p: 0.9 }
        for (const reply of [
          await chat(stack.baseUrl, apiKey, { ...drawn, messages: [HELLO] }),
          await chat(stack.baseUrl, apiKey, { ...drawn, messages: [HELLO], stream: true }),
          await messages(stack.baseUrl, apiKey, { ...drawn, messages: [HELLO] }),
          await post(stack.baseUrl, '/v1/responses', apiKey, { ...drawn, input: 'hi' }),
        ]) {
          assert.equal(reply.status, 200, reply.text)
          assert.equal(reply.headers.get('x-dropped-parameters'), 'temperature, top_p')
        }
      })
    }

    test('is asked once without them', async () => {
      const before = provider.asked.length
      const reply = await chat(stack.baseUrl, apiKey, { model, messages: [HELLO] })
      assert.deepEqual([reply.status, reply.headers.get('x-dropped-parameters')], [200, null])
      assert.equal(provider.asked.length - before, 1)
    })
  })
}

test('a temperature out of range is told to the client', async () => {
  sentence = 'temperature: must be less than or equal to 1'
  const reply = await chat(stack.baseUrl, apiKey, { model: 'test/openai', messages: [HELLO], temperature: 1.5 })
  assert.equal(reply.status, 400)
  assert.match(reply.text, /must be less than/)
})
