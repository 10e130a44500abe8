// Goal: long strings of a request reach the provider as the client wrote them, over sockets, in every pair of formats, also
// when a first provider has refused the request. Method: a mock provider that answers with the body it was sent.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { completion, postTo } from '../../support/clients/chatClient.ts'
import { messages, messagesAnswer } from '../../support/clients/messagesClient.ts'
import { itemOf } from '../../support/present.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const textOf = (lines: number): string => `${'Zeile "eins" \\ ü 漢 😀\n'.repeat(lines)}the end`
const LONG = textOf(20_000)
const IMAGE = `data:image/png;base64,${'iVBORw0KGgo'.repeat(30_000)}`

let stack: Stack
let apiKey: string

before(async () => {
  const failing = (dialect: string, endpoints: string[]) => ({
    id: `test/${dialect}`,
    routes: [
      { provider: `${dialect}-down`, model: 'mock,error=500' },
      { provider: dialect, model: 'mock,echo' },
    ],
    context: 2_000_000,
    endpoints,
  })
  stack = await startStack({
    catalog: {
      providers: [
        { id: 'openai' },
        { id: 'openai-down' },
        { id: 'anthropic', dialect: 'anthropic' },
        { id: 'anthropic-down', dialect: 'anthropic' },
      ],
      models: [
        {
          id: 'test/mixed',
          routes: [
            { provider: 'anthropic-down', model: 'mock,error=500' },
            { provider: 'openai', model: 'mock,echo' },
          ],
          context: 2_000_000,
        },
        failing('openai', ['chat', 'messages', 'completions']),
        failing('anthropic', ['chat', 'messages']),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '1000' })).apiKey
})

after(() => stack.finish())

type Body = Record<string, unknown> & { readonly messages: { content: unknown }[]; readonly prompt?: string }

/** The body that the provider was sent. */
const seen = (text: unknown): Body => (JSON.parse(String(text)) as { body: Body }).body

test('chat: text and image as they were', async () => {
  const content = [
    { type: 'text', text: LONG },
    { type: 'image_url', image_url: { url: IMAGE } },
  ]
  const body = JSON.stringify(
    { model: 'test/openai', messages: [{ role: 'user', content }], max_tokens: 16_000 },
    null,
    2,
  )
  const answer = completion(await postTo(`${stack.baseUrl}/v1/chat/completions`, apiKey, body))
  const [choice] = answer['choices'] as [{ message: { content: string } }]
  assert.deepEqual(itemOf(seen(choice.message.content).messages, 0).content, content)
  const mixed = completion(
    await postTo(`${stack.baseUrl}/v1/chat/completions`, apiKey, body.replace('test/openai', 'test/mixed')),
  )
  const [served] = mixed['choices'] as [{ message: { content: string } }]
  assert.deepEqual(itemOf(seen(served.message.content).messages, 0).content, content)
  const translated = completion(
    await postTo(`${stack.baseUrl}/v1/chat/completions`, apiKey, body.replace('test/openai', 'test/anthropic')),
  )
  const [other] = translated['choices'] as [{ message: { content: string } }]
  const [text, image] = itemOf(seen(other.message.content).messages, 0).content as [
    unknown,
    { source: { data: string } },
  ]
  assert.deepEqual(text, { type: 'text', text: LONG })
  assert.equal(`data:image/png;base64,${image.source.data}`, IMAGE)
})

test('Messages: text, input and result of a tool as they were', async () => {
  // The answer has it three times, escaped twice and more, and answers are parsed up to 2 MiB.
  const text = textOf(10_000)
  const turns = [
    { role: 'user', content: [{ type: 'text', text }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call', name: 'f', input: { file: text } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call', content: text }] },
  ]
  const ask = async (model: string) => {
    const reply = await messages(stack.baseUrl, apiKey, { model, max_tokens: 16_000, messages: turns })
    return seen(itemOf(messagesAnswer(reply).content, 0).text)
  }
  assert.deepEqual((await ask('test/anthropic')).messages, turns)
  const [said, called, result] = (await ask('test/openai')).messages as [
    { content: string },
    { tool_calls: { function: { arguments: string } }[] },
    { content: string },
  ]
  assert.deepEqual([said.content, result.content], [text, text])
  assert.deepEqual(JSON.parse(itemOf(called.tool_calls, 0).function.arguments), { file: text })
})

test('completions: the prompt as it was', async () => {
  const body = JSON.stringify({ model: 'test/openai', prompt: LONG, max_tokens: 16_000 })
  const answer = completion(await postTo(`${stack.baseUrl}/v1/completions`, apiKey, body))
  const [choice] = answer['choices'] as { text: string }[]
  assert.equal(seen(choice?.text).prompt, LONG)
})
