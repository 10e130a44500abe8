// Goal: rounds of tools of the package ai keep the reasoning of a provider that does not sign it: the package sends back neither
// thinking without a signature nor reasoning items without encrypted content.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

// It warns of every model whose name it does not know.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

const WORDS = 'I look at Oslo.'
const CALL = { name: 'weather', arguments: '{"city":"Oslo"}' }
/** The package asks for encrypted content by itself only of models whose names it knows. */
const OPTIONS = { openai: { store: false, include: ['reasoning.encrypted_content'] } }
const tools = {
  weather: tool({
    description: 'Tells the weather',
    inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: () => 'It rains.',
  }),
}

let stack: Stack
let provider: TurnProvider
let models: Readonly<Record<'messages' | 'responses', LanguageModel>>

before(async () => {
  provider = await TurnProvider.start(({ body }) =>
    JSON.stringify(body['messages']).includes('It rains.')
      ? { text: 'In Oslo.' }
      : { reasoning: WORDS, text: 'I look.', calls: [CALL] },
  )
  stack = await startStack({
    catalog: {
      providers: [{ id: 'wanting', base_url: provider.url, extra_members: ['reasoning_content'] }],
      models: [
        {
          id: 'test/wanting',
          endpoints: ['messages', 'responses'],
          thinking: 'effort',
          routes: [{ provider: 'wanting', model: 'm' }],
        },
      ],
    },
  })
  const { apiKey } = await stack.createAccount()
  const settings = { baseURL: `${stack.baseUrl}/v1`, apiKey }
  models = {
    messages: createAnthropic(settings)('test/wanting'),
    responses: createOpenAI(settings).responses('test/wanting'),
  }
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

function assertKept(text: string): void {
  assert.equal(text, 'In Oslo.')
  const said = provider.last.body['messages'] as Record<string, unknown>[]
  assert.deepEqual(
    said.filter(({ role }) => role === 'assistant').map(({ reasoning_content: words }) => words),
    [WORDS],
  )
}

for (const format of ['messages', 'responses'] as const) {
  test(`${format}: the second step of a round gets the reasoning of the first`, async () => {
    const asked = {
      model: models[format],
      prompt: 'Where does it rain?',
      tools,
      stopWhen: stepCountIs(5),
      providerOptions: OPTIONS,
    }
    const { text } = await generateText(asked)
    assertKept(text)
    const stream = streamText(asked)
    await stream.consumeStream()
    const last = (await stream.steps).at(-1)
    assertKept(last?.text ?? '')
  })
}
