// Goal: no old turn of a chat locks its conversation: what clients keep of calls and results in other forms, or cut off, goes to
// providers in the form that they demand. One row a shape.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { turnModels } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { answer, asking, CHOICES, CHOSEN, call, HISTORIES, part, said, signed, tool } from './chatRows.ts'

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  const own = { dialect: 'openai', base_url: provider.url }
  stack = await startStack({
    catalog: {
      providers: [
        { id: 'plain', ...own },
        { id: 'signing', ...own, extra_members: ['extra_content'] },
      ],
      models: turnModels(['plain', 'signing']),
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

async function sentFor(
  body: object,
  model = 'test/plain',
): Promise<{ body: Record<string, unknown>; dropped: string }> {
  const reply = await chat(stack.baseUrl, apiKey, { model, messages: [said], ...body })
  assert.equal(reply.status, 200, reply.text)
  return { body: provider.last.body, dropped: reply.headers.get('x-dropped-parameters') ?? '' }
}

describe('histories of chats', () => {
  for (const [title, messages, sent] of HISTORIES) {
    test(title, async () => {
      assert.deepEqual((await sentFor({ messages })).body['messages'], sent)
    })
  }

  test('an image as a block has all its data, however large', async () => {
    for (const bytes of [3_000, 200_000, 3_000_000]) {
      const data = Buffer.alloc(bytes, 'image').toString('base64')
      const content = [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }, part('text', 'a')]
      const { messages: sent } = (await sentFor({ messages: [{ role: 'user', content }] })).body
      const url = `data:image/png;base64,${data}`
      assert.deepEqual(sent, [
        { role: 'user', content: [{ type: 'image_url', image_url: { url } }, part('text', 'a')] },
      ])
    }
  })

  test('a result of texts has all of them, however large', async () => {
    for (const characters of [3_000, 60_000]) {
      const long = 'text'.repeat(characters / 4)
      for (const texts of [[long], [long, 'b', long]]) {
        const content = texts.map((text) => part('text', text))
        const messages = [said, asking(call), answer('t1', content)]
        const { messages: sent } = (await sentFor({ messages })).body
        assert.deepEqual(sent, [said, asking(call), answer('t1', texts.join('\n'))])
      }
    }
  })

  test('the signature of a call goes to the providers that want it back, and the others are spared it', async () => {
    const messages = [asking(signed), answer('t1')]
    const taken = await sentFor({ messages }, 'test/signing')
    assert.deepEqual([taken.body['messages'], taken.dropped], [messages, ''])
    const spared = await sentFor({ messages })
    assert.deepEqual([spared.body['messages'], spared.dropped], [[asking(call), answer('t1')], 'extra_content'])
  })
})

describe('tools and choices of other formats', () => {
  for (const [title, body, sent] of CHOICES) {
    test(title, async () => {
      const got = (await sentFor(body)).body
      assert.deepEqual({ tools: got['tools'], ...('tool_choice' in got && { tool_choice: got['tool_choice'] }) }, sent)
    })
  }
})

test('Responses with tools, a choice and an image in the form of a chat', async () => {
  const content = [
    part('text', 'a'),
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
  ]
  const body = { model: 'test/plain', input: [{ role: 'user', content }], tools: [tool], tool_choice: CHOSEN }
  const reply = await post(stack.baseUrl, '/v1/responses', apiKey, body)
  assert.equal(reply.status, 200, reply.text)
  const { messages: sent, tools, tool_choice: choice } = provider.last.body
  assert.deepEqual([sent, tools, choice], [[{ role: 'user', content }], [tool], CHOSEN])
})

test('Messages with the format of older packages and a result that is an object', async () => {
  const use = { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } }
  const result = { type: 'tool_result', tool_use_id: 't1', content: { b: [2] } }
  const reply = await messages(stack.baseUrl, apiKey, {
    model: 'test/plain',
    messages: [said, { role: 'assistant', content: [use] }, { role: 'user', content: [result] }],
    output_format: { type: 'json_schema', schema: { type: 'object' } },
  })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(provider.last.body['messages'], [said, asking(call), answer('t1', '{"b":[2]}')])
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } }
  assert.deepEqual(provider.last.body['response_format'], format)
})
