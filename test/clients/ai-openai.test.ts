import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateObject, generateText, type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { type Receipt, receiptOf } from '../support/clients/chatClient.ts'
import { itemOf } from '../support/present.ts'
import type { ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { startWeatherProvider, WEATHER_USAGE } from '../support/providers/weatherProvider.ts'
import { assertReconciled, chargeOf } from '../support/reconcile.ts'
import { type Stack, startStack } from '../support/stack.ts'

const ENDPOINTS = ['chat', 'completions', 'responses']
const CITY = z.object({ city: z.string() })
/** Without it the package refers to what it believes to be stored, which nothing is here. */
const UNSTORED = { openai: { store: false } }

let stack: Stack
let weather: ScriptedProvider
let apiKey: string
/** Models by the format that the package speaks to the gateway. */
let formats: Record<'responses' | 'chat' | 'compatible', (id: string) => LanguageModel>
let texts: Record<'openai' | 'compatible', (id: string) => LanguageModel>

before(async () => {
  weather = await startWeatherProvider()
  stack = await startStack({
    catalog: {
      providers: [{ id: 'mock' }, { id: 'weather', base_url: weather.url }],
      models: [
        { id: 'test/small', endpoints: ENDPOINTS },
        { id: 'test/think', endpoints: ENDPOINTS, upstream: 'mock,thinking=3,chunks=6,reasoning=3,prompt=9,cached=4' },
        { id: 'test/json', endpoints: ENDPOINTS, upstream: 'mock,chunks=1,text={"city":"Paris"}' },
        { id: 'test/refuse', endpoints: ENDPOINTS, upstream: 'mock,refuse' },
        { id: 'test/cut', endpoints: ENDPOINTS, upstream: 'mock,cut=3' },
        { id: 'test/echo', endpoints: ENDPOINTS, upstream: 'mock,echo' },
        ...['weather', 'chatty', 'two'].map((model) => ({
          id: `test/${model}`,
          endpoints: ENDPOINTS,
          routes: [{ provider: 'weather', model }],
        })),
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
  const baseURL = `${stack.baseUrl}/v1`
  const openai = createOpenAI({ baseURL, apiKey })
  const compatible = createOpenAICompatible({ name: 'sluice', baseURL, apiKey, includeUsage: true })
  formats = { responses: openai, chat: openai.chat, compatible: compatible.chatModel }
  texts = { openai: openai.completion, compatible: compatible.completionModel }
})

after(async () => {
  await stack.finish()
  await weather.stop()
})

const tools = {
  get_weather: tool({ description: 'Tells the weather', inputSchema: CITY, execute: ({ city }) => `sunny in ${city}` }),
}

for (const format of ['responses', 'chat', 'compatible'] as const) {
  test(`${format}: a text, generated and streamed, with its usage`, async () => {
    const asked = { model: formats[format]('test/small'), prompt: 'hello', system: 'Be brief.' }
    const whole = await generateText(asked)
    assert.match(whole.text, /^ tok0.* tok15$/)
    assert.deepEqual([whole.finishReason, whole.usage.outputTokens], ['stop', 16])
    const stream = streamText(asked)
    let text = ''
    for await (const piece of stream.textStream) text += piece
    assert.equal(text, whole.text)
    assert.deepEqual([await stream.finishReason, (await stream.usage).outputTokens], ['stop', 16])
    const { id, modelId } = await stream.response
    assert.match(id, /^req_/)
    assert.equal(modelId, 'test/small')
    const log = await stack.provider.log()
    for (const requestId of [id, whole.response.id]) {
      assertReconciled(await receiptOf(stack.baseUrl, apiKey, requestId), log)
    }
  })

  for (const model of ['test/weather', 'test/chatty', 'test/two']) {
    test(`${format}: a round of tool calls, generated and streamed: ${model}`, async () => {
      const asked = {
        model: formats[format](model),
        prompt: 'How is the weather?',
        tools,
        stopWhen: stepCountIs(5),
        providerOptions: UNSTORED,
      }
      const whole = await generateText(asked)
      const stream = streamText(asked)
      let streamed = ''
      for await (const piece of stream.textStream) streamed += piece
      const said = model === 'test/chatty' ? 'Let me see.' : ''
      // The last call's output is the last message.
      const told = `It is sunny in ${model === 'test/two' ? 'Rome' : 'Paris'}.`
      assert.deepEqual([whole.text, streamed], [told, said + told])
      for (const steps of [whole.steps, await stream.steps]) {
        assert.deepEqual(
          steps.map((step) => step.finishReason),
          ['tool-calls', 'stop'],
        )
        assert.deepEqual(
          itemOf(steps, 0).toolCalls.map((call) => call.input),
          [{ city: 'Paris' }, ...(model === 'test/two' ? [{ city: 'Rome' }] : [])],
        )
        for (const step of steps) await assertCharged(step.response.id)
      }
    })
  }

  test(`${format}: an error in the middle of a stream, and one before it`, async () => {
    const errors: unknown[] = []
    const stream = streamText({
      model: formats[format]('test/cut'),
      prompt: 'x',
      onError: ({ error }) => {
        errors.push(error)
      },
    })
    let text = ''
    for await (const piece of stream.textStream) text += piece
    assert.equal(text, ' tok0 tok1 tok2')
    assert.equal(errors.length, 1)
    assert.match(JSON.stringify(errors[0]), /stream_interrupted/)
    const asked = generateText({ model: formats[format]('test/none'), prompt: 'x' })
    await assert.rejects(asked, (error) => APICallError.isInstance(error) && error.statusCode === 404)
  })

  test(`${format}: an object by a schema`, async () => {
    const { object } = await generateObject({ model: formats[format]('test/json'), schema: CITY, prompt: 'Where?' })
    assert.deepEqual(object, { city: 'Paris' })
  })
}

async function assertCharged(requestId: string): Promise<void> {
  const receipt: Receipt = await receiptOf(stack.baseUrl, apiKey, requestId)
  assert.deepEqual([receipt.status, receipt.cost.units], ['ok', String(chargeOf(WEATHER_USAGE))])
}

test('responses: thoughts, cached tokens, a refusal', async () => {
  const asked = { model: formats.responses('test/think'), prompt: 'x' }
  const whole = await generateText(asked)
  const stream = streamText(asked)
  await stream.consumeStream()
  for (const { reasoningText, text, usage } of [
    whole,
    { reasoningText: await stream.reasoningText, text: await stream.text, usage: await stream.usage },
  ]) {
    assert.deepEqual([reasoningText, text], [' thought0 thought1 thought2', ' tok0 tok1 tok2 tok3 tok4 tok5'])
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [9, 6])
    assert.equal(usage.inputTokenDetails.cacheReadTokens, 4)
    assert.equal(usage.outputTokenDetails.reasoningTokens, 3)
  }
  const refused = await generateText({ model: formats.responses('test/refuse'), prompt: 'x' })
  assert.equal(refused.finishReason, 'content-filter')
})

test('responses: images and the effort reach the provider', async () => {
  const { text } = await generateText({
    model: formats.responses('test/echo'),
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]), mediaType: 'image/png' },
        ],
      },
    ],
    providerOptions: { openai: { reasoningEffort: 'low', forceReasoning: true } },
  })
  const { body } = JSON.parse(text) as { body: { messages: { content: unknown }[]; reasoning_effort: string } }
  assert.equal(body.reasoning_effort, 'low')
  assert.deepEqual(itemOf(body.messages, 0).content, [
    { type: 'text', text: 'Look' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  ])
})

test('responses: a reference to an item that is not stored is rejected with the remedy', async () => {
  const asked = generateText({
    model: formats.responses('test/chatty'),
    prompt: 'x',
    tools,
    stopWhen: stepCountIs(5),
  })
  await assert.rejects(asked, (error) => {
    assert.ok(APICallError.isInstance(error))
    assert.equal(error.statusCode, 400)
    assert.match(error.message, /providerOptions\.openai\.store/)
    return true
  })
})

for (const client of ['openai', 'compatible'] as const) {
  test(`text completions by ${client}, generated and streamed`, async () => {
    const asked = { model: texts[client]('test/small'), prompt: 'Once', maxOutputTokens: 4 }
    const whole = await generateText(asked)
    assert.deepEqual([whole.text, whole.finishReason], [' tok0 tok1 tok2 tok3', 'length'])
    const stream = streamText(asked)
    let text = ''
    for await (const piece of stream.textStream) text += piece
    assert.deepEqual([text, await stream.finishReason], [whole.text, 'length'])
    assert.equal((await stream.usage).outputTokens, 4)
    const log = await stack.provider.log()
    for (const { id } of [whole.response, await stream.response]) {
      assertReconciled(await receiptOf(stack.baseUrl, apiKey, id), log)
    }
  })
}
