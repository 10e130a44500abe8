// Goal: a model that refuses a part of a request answers all the same: a temperature, which most packages send, a conversation that
// ends with a turn of the assistant, and what it takes of no request. One row a sentence of a provider (The-PR-Agent/pr-agent 2456,
// SalesforceAIResearch/MCP-Universe 49, OpenAI; copilot-api 261, opencode 36970, OmniRoute 3396, nanobot 2376).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '../../contract/std/jsonObject.ts'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

const DRAWS = [
  '`temperature` is deprecated for this model.',
  '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
  "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
  "Unsupported parameter: 'top_p' is not supported with this model.",
]
const PREFILLS = [
  'This model does not support assistant message prefill. The conversation must end with a user message.',
  'A conversation must end with a user message. Try again with a conversation that ends with a user message.',
  'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
  'Cannot have 2 or more assistant messages at the end of the list.',
  'Assistant response prefill is incompatible with enable_thinking.',
  'The last message must be from the user.',
]
const EFFORTS = "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'"
const TOOLS =
  "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
const STOPS = "Unsupported parameter: 'stop_sequences' is not supported with this model."
const NAMES = ['temperature', 'top_p', 'top_k', 'presence_penalty', 'frequency_penalty']
const BEGUN = { role: 'assistant', content: 'The answer is' }

interface Said {
  readonly role: string
  readonly content: unknown
}

let stack: Stack
let provider: TurnProvider
let apiKey: string
/** Of the model now: the sentence in which it refuses a request, and null for one that it takes. */
let refuses: (body: JsonObject) => string | null = () => null

const saidTo = (): readonly Said[] => provider.last.body['messages'] as Said[]
const drawnBy = (sentence: string) => (body: JsonObject) => (NAMES.some((name) => name in body) ? sentence : null)

before(async () => {
  provider = await TurnProvider.start(({ body, path }) => {
    const sentence = refuses(body)
    return sentence === null ? { text: 'ok' } : refusal(sentence, path)
  })
  stack = await startStack({ catalog: turnCatalog(provider.url, { thinking: 'effort' }) })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

async function attemptsOf(more: object): Promise<number> {
  const asked = provider.asked.length
  const reply = await chat(stack.baseUrl, apiKey, { model: 'test/anthropic', messages: [HELLO], ...more })
  assert.equal(reply.status, 200, reply.text)
  return provider.asked.length - asked
}

for (const dialect of OVER) {
  const model = `test/${dialect}`
  describe(`a model of the dialect ${dialect} that draws its answers by itself`, () => {
    for (const said of DRAWS) {
      test(said, async () => {
        refuses = drawnBy(said)
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
      const asked = provider.asked.length
      const reply = await chat(stack.baseUrl, apiKey, { model, messages: [HELLO] })
      assert.deepEqual([reply.status, reply.headers.get('x-dropped-parameters')], [200, null])
      assert.equal(provider.asked.length - asked, 1)
    })
  })
}

test('a temperature out of range is told to the client', async () => {
  refuses = drawnBy('temperature: must be less than or equal to 1')
  const reply = await chat(stack.baseUrl, apiKey, { model: 'test/openai', messages: [HELLO], temperature: 1.5 })
  assert.equal(reply.status, 400)
  assert.match(reply.text, /must be less than/)
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
      for (const said of PREFILLS) {
        test(`is asked for by the user: ${client}: ${said}`, async () => {
          refuses = (body) => ((body['messages'] as Said[]).at(-1)?.role === 'assistant' ? said : null)
          const reply = await ask()
          assert.equal(reply.status, 200, reply.text)
          const roles = saidTo().map(({ role }) => role)
          assert.deepEqual(roles, ['user', 'assistant', 'user'])
          assert.match(JSON.stringify(saidTo()[1]), /The answer is/)
          assert.match(JSON.stringify(saidTo()[2]), /Continue exactly/)
        })
      }

      test(`is continued by a model that does: ${client}`, async () => {
        refuses = () => null
        const asked = provider.asked.length
        assert.equal((await ask()).status, 200)
        assert.equal(provider.asked.length - asked, 1)
        assert.equal(saidTo().at(-1)?.role, 'assistant')
      })
    }
  })
}

test('a part that the model refuses of every request is not sent again for a while', async () => {
  refuses = (body) => (JSON.stringify(body).includes('"xhigh"') ? EFFORTS : null)
  const body = { reasoning_effort: 'xhigh' }
  assert.deepEqual([await attemptsOf(body), await attemptsOf(body)], [2, 1])
  assert.ok(JSON.stringify(provider.last.body).includes('"effort":"high"'))
  assert.equal(await attemptsOf({ reasoning_effort: 'medium' }), 1)
  assert.ok(JSON.stringify(provider.last.body).includes('"effort":"medium"'))
})

test('what may be refused of one request alone is sent with the next', async () => {
  refuses = (body) => ('stop_sequences' in body ? STOPS : null)
  const body = { stop: ['x'] }
  assert.deepEqual([await attemptsOf(body), await attemptsOf(body)], [2, 2])
})

test('a model that thinks with tools in another format alone does not think with them, and thinks without them', async () => {
  refuses = (body) => (body['tools'] !== undefined && body['reasoning_effort'] !== 'none' ? TOOLS : null)
  const model = 'test/openai'
  const turn = { model, messages: [HELLO], reasoning_effort: 'high' }
  const parameters = { type: 'object', properties: {} }
  const tools = [{ type: 'function', function: { name: 'f', parameters } }]
  const asked = provider.asked.length
  const first = await chat(stack.baseUrl, apiKey, { ...turn, tools })
  assert.deepEqual([first.status, first.headers.get('x-dropped-parameters')], [200, 'reasoning_effort'])
  assert.equal(provider.last.body['reasoning_effort'], 'none')
  const plain = await chat(stack.baseUrl, apiKey, turn)
  assert.deepEqual([plain.status, plain.headers.get('x-dropped-parameters')], [200, null])
  assert.equal(provider.last.body['reasoning_effort'], 'high')
  const input = { model, input: 'hi', tools: [{ type: 'function', name: 'f', parameters }] }
  const native = { output_config: { effort: 'high' }, tools: [{ name: 'f', input_schema: { type: 'object' } }] }
  for (const reply of [
    await post(stack.baseUrl, '/v1/responses', apiKey, input),
    await messages(stack.baseUrl, apiKey, { model, messages: [HELLO], ...native }),
  ]) {
    assert.deepEqual([reply.status, reply.headers.get('x-dropped-parameters')], [200, null])
    assert.equal(provider.last.body['reasoning_effort'], 'none')
  }
  assert.equal(provider.asked.length - asked, 5)
})
