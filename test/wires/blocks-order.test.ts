import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI from 'openai'
import { messages } from '../support/clients/messagesClient.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { assistant, HELLO, result, text, use, user } from './blockRows.ts'

const MODEL = 'test/turns'
const call = { id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const asks = { role: 'assistant', content: null, tool_calls: [call] }
const answers = { role: 'tool', tool_call_id: 't1', content: 'x' }
const said = { role: 'user', content: 'go on' }
const toolResult = { type: 'tool_result', tool_use_id: 't1', content: [text('x')] }
const noResult = { ...toolResult, content: [text('There is no result.')] }
const missing = { type: 'tool_result', tool_use_id: 't1', content: 'There is no result.' }
const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'
const image = (type: string, data = 'AAAA') => ({
  type: 'image_url',
  image_url: { url: `data:${type};base64,${data}` },
})
const source = (type: string, data = 'AAAA') => ({ type: 'image', source: { type: 'base64', media_type: type, data } })

/** The messages of a chat, and what a provider of the Anthropic dialect gets. */
const CHATS: readonly (readonly [title: string, chat: readonly object[], sent: readonly object[]])[] = [
  [
    'a text between a call and its result',
    [said, asks, said, answers],
    [user(text('go on')), assistant(use), user(toolResult, text('go on'))],
  ],
  [
    'a text behind a result',
    [said, asks, answers, said],
    [user(text('go on')), assistant(use), user(toolResult, text('go on'))],
  ],
  ['a call without a result', [said, asks, said], [user(text('go on')), assistant(use), user(noResult, text('go on'))]],
  ['a call without a result at the end', [said, asks], [user(text('go on')), assistant(use), user(noResult)]],
  [
    'a result without the id of its call',
    [said, asks, { role: 'tool', content: 'x' }],
    [user(text('go on')), assistant(use), user(toolResult)],
  ],
  ['a result without a call', [said, answers, said], [user(text('go on'), text('x'), text('go on'))]],
  [
    'a result twice',
    [said, asks, answers, answers],
    [user(text('go on')), assistant(use), user(toolResult, text('x'))],
  ],
  ['a text of white space', [{ role: 'user', content: [text('a'), text(' \n')] }], [user(text('a'))]],
  [
    'a message of white space among others',
    [said, { role: 'assistant', content: ' ' }, said],
    [user(text('go on'), text('go on'))],
  ],
  ['nothing but white space', [{ role: 'user', content: ' \n' }], [user(text('...'))]],
  [
    'white space at the end of an answer to continue',
    [said, { role: 'assistant', content: 'It is ' }],
    [user(text('go on')), assistant(text('It is'))],
  ],
  [
    'a conversation that the assistant begins',
    [{ role: 'assistant', content: 'Hi' }, said],
    [user(text('...')), assistant(text('Hi')), user(text('go on'))],
  ],
  ['instructions alone', [{ role: 'system', content: 'Be brief.' }], [user(text('Be brief.'))]],
  [
    'an image/jpg',
    [{ role: 'user', content: [text('a'), image('image/jpg')] }],
    [user(text('a'), source('image/jpeg'))],
  ],
  [
    'an image/pjpeg',
    [{ role: 'user', content: [text('a'), image('image/PJPEG')] }],
    [user(text('a'), source('image/jpeg'))],
  ],
  [
    'an image/png named for another type',
    [{ role: 'user', content: [text('a'), image('image/jpeg', PNG)] }],
    [user(text('a'), source('image/png', PNG))],
  ],
  [
    'an image/png',
    [{ role: 'user', content: [text('a'), image('image/png')] }],
    [user(text('a'), source('image/png'))],
  ],
]

/** Messages that a client of the same format sends, and what goes on. */
const NATIVE: readonly (readonly [title: string, sent: readonly object[], got: readonly object[]])[] = [
  [
    'a text before a result',
    [assistant(use), user(text('a'), toolResult, text('b'))],
    [assistant(use), user(toolResult, text('a'), text('b'))],
  ],
  [
    'a text of white space',
    [user(text('a')), assistant(text('\n\n'), use), result('x')],
    [user(text('a')), assistant(use), result('x')],
  ],
  ['a call without a result', [assistant(use), user(text('a'))], [assistant(use), user(missing, text('a'))]],
  ['a call without a result, before a text', [assistant(use), HELLO], [assistant(use), user(missing, text('go on'))]],
  [
    'a call without a result at the end',
    [user(text('a')), assistant(use)],
    [user(text('a')), assistant(use), user(missing)],
  ],
  [
    'one of two calls without a result',
    [assistant(use, { ...use, id: 't2' }), user({ ...toolResult, tool_use_id: 't2' }, text('a'))],
    [assistant(use, { ...use, id: 't2' }), user({ ...toolResult, tool_use_id: 't2' }, missing, text('a'))],
  ],
  [
    'a result in the second message of the user',
    [assistant(use), user(text('a')), user(toolResult)],
    [assistant(use), user(toolResult), user(text('a'))],
  ],
  [
    'results in two messages of the user',
    [assistant(use, { ...use, id: 't2' }), user({ ...toolResult, tool_use_id: 't2' }, text('a')), user(toolResult)],
    [assistant(use, { ...use, id: 't2' }), user({ ...toolResult, tool_use_id: 't2' }, toolResult, text('a'))],
  ],
  ['a result without a call', [user(toolResult, text('a'))], [user(text('x'), text('a'))]],
  [
    'a result of an older call',
    [assistant(use), user(toolResult), assistant(text('b')), user(toolResult)],
    [assistant(use), user(toolResult), assistant(text('b')), user(text('x'))],
  ],
  [
    'a result without a call before one with its call',
    [assistant(use), user({ ...toolResult, tool_use_id: 't9' }, toolResult)],
    [assistant(use), user(toolResult, text('x'))],
  ],
  ['an empty result without a call', [user({ type: 'tool_result', tool_use_id: 't1' })], [user(text('...'))]],
  ['a result twice', [assistant(use), user(toolResult, toolResult)], [assistant(use), user(toolResult, text('x'))]],
  [
    'a call with null as its input',
    [assistant({ ...use, input: null }), user(toolResult)],
    [assistant({ ...use, input: {} }), user(toolResult)],
  ],
  ['an image/jpg', [user(text('a'), source('image/jpg'))], [user(text('a'), source('image/jpeg'))]],
  [
    'an image/png named for another type',
    [user(text('a'), source('image/jpeg', PNG))],
    [user(text('a'), source('image/png', PNG))],
  ],
  [
    'white space at the end of an answer to continue',
    [user(text('a')), { role: 'assistant', content: 'It is \n' }],
    [user(text('a')), { role: 'assistant', content: 'It is' }],
  ],
  [
    'white space at the end of the last block of an answer to continue',
    [user(text('a')), assistant(text('So: '), text('It is '))],
    [user(text('a')), assistant(text('So: '), text('It is'))],
  ],
  [
    'white space at the end of a long answer to continue',
    [user(text('a')), assistant(text(`${'long '.repeat(2_000)}\n`))],
    [user(text('a')), assistant(text('long '.repeat(2_000).trimEnd()))],
  ],
  [
    'white space at the end of older turns',
    [user(text('a ')), assistant(text('b ')), user(text('c '))],
    [user(text('a ')), assistant(text('b ')), user(text('c '))],
  ],
  [
    'messages of white space among others',
    [user(text('a')), { role: 'assistant', content: ' ' }, { role: 'user', content: '\n' }, user(text('b'))],
    [user(text('a')), user(text('b'))],
  ],
  ['nothing but white space', [{ role: 'user', content: ' \n' }], [{ role: 'user', content: '...' }]],
  [
    'long white space among other blocks',
    [user(text('a'), text(' '.repeat(10_000)), text('b'))],
    [user(text('a'), text('b'))],
  ],
  [
    'a result of white space',
    [assistant(use), user({ ...toolResult, content: '\n' })],
    [assistant(use), user({ type: 'tool_result', tool_use_id: 't1' })],
  ],
]

let stack: Stack
let provider: TurnProvider
let apiKey: string
let client: OpenAI

before(async () => {
  provider = await TurnProvider.start()
  const routes = [{ provider: 'turns', model: 'm' }]
  stack = await startStack({
    catalog: {
      providers: [{ id: 'turns', dialect: 'anthropic', base_url: provider.url }],
      models: [
        { id: MODEL, routes },
        { id: 'test/thinks', thinking: 'budget', routes },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const create = (body: object) =>
  client.chat.completions.create({ model: MODEL, ...body } as OpenAI.ChatCompletionCreateParamsNonStreaming)

describe('a chat is put into the order that the Messages format demands', () => {
  for (const [title, chat, sent] of CHATS) {
    test(title, async () => {
      await create({ messages: chat })
      assert.deepEqual(provider.last.body['messages'], sent)
    })
  }

  test('any JSON object is asked for in words', async () => {
    await create({ messages: [said], response_format: { type: 'json_object' } })
    assert.deepEqual(provider.last.body['system'], [text('Answer with a single JSON object and nothing else.')])
  })

  test('a model with a budget does not think anew after a result, whatever the user adds', async () => {
    const body = { model: 'test/thinks', reasoning_effort: 'high', max_tokens: 4_096 }
    await create({ ...body, messages: [said, asks, answers, said] })
    assert.ok(!('thinking' in provider.last.body))
    await create({ ...body, messages: [said, asks, answers, { role: 'assistant', content: 'ok' }, said] })
    assert.deepEqual(Object.keys(provider.last.body['thinking'] as object), ['type', 'budget_tokens'])
  })
})

describe('Messages are put into the order that providers demand', () => {
  for (const [title, sent, got] of NATIVE) {
    test(title, async () => {
      const reply = await messages(stack.baseUrl, apiKey, { model: MODEL, messages: sent })
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(provider.last.body['messages'], got)
    })
  }

  test('instructions of white space are left out', async () => {
    await messages(stack.baseUrl, apiKey, { model: MODEL, system: ' \n' })
    assert.ok(!('system' in provider.last.body))
  })
})
