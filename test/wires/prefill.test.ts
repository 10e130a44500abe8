// Goal: a conversation that ends with a turn of the assistant goes on with models that refuse one, as Claude's since 4.6, Mistral's
// and llama.cpp do. One row a sentence of a provider (copilot-api 261, opencode 36970, OmniRoute 3396, nanobot 2376).
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
  'This model does not support assistant message prefill. The conversation must end with a user message.',
  'A conversation must end with a user message. Try again with a conversation that ends with a user message.',
  'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
  'Cannot have 2 or more assistant messages at the end of the list.',
  'Assistant response prefill is incompatible with enable_thinking.',
  'The last message must be from the user.',
]
const BEGUN = { role: 'assistant', content: 'The answer is' }

interface Said {
  readonly role: string
  readonly content: unknown
}

let stack: Stack
let provider: TurnProvider
let apiKey: string
/** Null for a model that takes a prefill. */
let sentence: string | null = null

const saidTo = (): readonly Said[] => provider.last.body['messages'] as Said[]

before(async () => {
  provider = await TurnProvider.start(({ body, path }) => {
    const isPrefilled = (body['messages'] as Said[]).at(-1)?.role === 'assistant'
    return sentence !== null && isPrefilled ? refusal(sentence, path) : { text: 'ok' }
  })
  stack = await startStack({ catalog: turnCatalog(provider.url) })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

for (const dialect of OVER) {
  const model = `test/${dialect}`
  const asks: readonly (readonly [client: string, ask: () => ReturnType<typeof chat>])[] = [
    ['chat', () => chat(stack.baseUrl, apiKey, { model, messages: [HELLO, BEGUN] })],
    ['a streamed chat', () => chat(stack.baseUrl, apiKey, { model, messages: [HELLO, BEGUN], stream: true })],
    ['Messages', () => messages(stack.baseUrl, apiKey, { model, messages: [HELLO, BEGUN] })],
    ['Responses', () => post(stack.baseUrl, '/v1/responses', apiKey, { model, input: [HELLO, BEGUN] })],
  ]
  describe(`an answer that is begun for a model of the dialect ${dialect}`, () => {
    for (const [client, ask] of asks) {
      for (const said of SENTENCES) {
        test(`is asked for by the user: ${client}: ${said}`, async () => {
          sentence = said
          const reply = await ask()
          assert.equal(reply.status, 200, reply.text)
          const roles = saidTo().map(({ role }) => role)
          assert.deepEqual(roles, ['user', 'assistant', 'user'])
          assert.match(JSON.stringify(saidTo()[1]), /The answer is/)
          assert.match(JSON.stringify(saidTo()[2]), /Continue exactly/)
        })
      }

      test(`is continued by a model that does: ${client}`, async () => {
        sentence = null
        const asked = provider.asked.length
        assert.equal((await ask()).status, 200)
        assert.equal(provider.asked.length - asked, 1)
        assert.equal(saidTo().at(-1)?.role, 'assistant')
      })
    }
  })
}
