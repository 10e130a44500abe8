import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { APICallError, generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { receiptOf } from '../support/clients/chatClient.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack } from '../support/stack.ts'

// It warns of every model whose name it does not know.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

const DIALECTS = ['openai', 'anthropic']

let stack: Stack
let apiKey: string

before(async () => {
  const upstreams = {
    plain: 'mock,prompt=90,cached=60',
    round: 'mock,round,chunks=5',
    thinking: 'mock,thinking=3',
    object: 'mock,chunks=1,text={"city":"Paris"}',
    cut: 'mock,cut=3',
  }
  stack = await startStack({
    limits: { breakerFailures: 100 },
    catalog: {
      providers: DIALECTS.map((dialect) => ({ id: dialect, dialect })),
      models: DIALECTS.flatMap((provider) =>
        Object.entries(upstreams).map(([name, model]) => ({
          id: `${provider}/${name}`,
          endpoints: ['messages'],
          thinking: 'budget',
          routes: [{ provider, model }],
        })),
      ),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(() => stack.finish())

const model = (id: string) => createAnthropic({ baseURL: `${stack.baseUrl}/v1`, apiKey })(id)

for (const dialect of DIALECTS) {
  describe(`the ai package over a provider of the ${dialect} dialect`, () => {
    test('generateText: text, finish reason, usage', async () => {
      const { text, finishReason, usage, response } = await generateText({
        model: model(`${dialect}/plain`),
        prompt: 'hello',
      })
      assert.match(text, /^ tok0.* tok15$/)
      assert.equal(finishReason, 'stop')
      assert.deepEqual([usage.inputTokens, usage.inputTokenDetails.cacheReadTokens, usage.outputTokens], [90, 60, 16])
      assert.match(response.id, /^req_/)
      assertReconciled(await receiptOf(stack.baseUrl, apiKey, response.id), await stack.provider.log())
    })

    test('streamText: a round with a tool', async () => {
      const cities: string[] = []
      const result = streamText({
        model: model(`${dialect}/round`),
        prompt: 'What is the weather?',
        stopWhen: stepCountIs(5),
        tools: {
          get_weather: tool({
            description: 'Tells the weather',
            inputSchema: jsonSchema<{ city: string }>({
              type: 'object',
              properties: { city: { type: 'string' } },
              required: ['city'],
              additionalProperties: false,
            }),
            execute: ({ city }) => {
              cities.push(city)
              return 'sunny'
            },
          }),
        },
      })
      let streamed = ''
      for await (const piece of result.textStream) streamed += piece
      const steps = await result.steps
      assert.deepEqual(
        steps.map((step) => step.finishReason),
        ['tool-calls', 'stop'],
      )
      assert.match(cities.join(), /^Paris/)
      assert.equal(streamed, ' tok0 tok1 tok2 tok3 tok4')
      assert.equal(steps.at(-1)?.usage.outputTokens, 5)
      const log = await stack.provider.log()
      for (const step of steps) assertReconciled(await receiptOf(stack.baseUrl, apiKey, step.response.id), log)
    })

    test('streamText: thinking apart from text', async () => {
      const result = streamText({
        model: model(`${dialect}/thinking`),
        prompt: 'hello',
        maxOutputTokens: 4_000,
        providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } },
      })
      let thought = ''
      for await (const part of result.fullStream) if (part.type === 'reasoning-delta') thought += part.text
      assert.equal(thought, ' thought0 thought1 thought2')
      assert.match(await result.text, /^ tok0/)
    })

    test('generateObject: an answer by a schema', async () => {
      const { object } = await generateObject({
        model: model(`${dialect}/object`),
        schema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
        prompt: 'Where?',
        providerOptions: { anthropic: { structuredOutputMode: 'outputFormat' } },
      })
      assert.deepEqual(object, { city: 'Paris' })
    })

    test('a stream that breaks is an error', async () => {
      const errors: unknown[] = []
      const result = streamText({
        model: model(`${dialect}/cut`),
        prompt: 'hello',
        onError: ({ error }) => {
          errors.push(error)
        },
      })
      let streamed = ''
      for await (const piece of result.textStream) streamed += piece
      assert.equal(streamed, ' tok0 tok1 tok2')
      assert.equal(errors.length, 1)
      assert.match(JSON.stringify(errors), /ended the stream early/)
    })
  })
}

test('an error has its message and its status', async () => {
  await assert.rejects(generateText({ model: model('test/none'), prompt: 'hello', maxRetries: 0 }), (error) => {
    assert.ok(APICallError.isInstance(error))
    assert.equal(error.statusCode, 404)
    assert.match(error.message, /There is no model/)
    return true
  })
})
