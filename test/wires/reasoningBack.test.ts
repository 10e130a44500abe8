// Goal: providers that want reasoning back with the assistant's messages of a history get it from the clients of every format, and a
// blank where a client has not kept it; other providers get no more than a client of theirs sends. Method: a provider that refuses a
// call without reasoning, as DeepSeek and Moonshot do, in conversations of the official clients.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { itemOf } from '../support/present.ts'
import { turnModels } from '../support/providers/turnCatalog.ts'
import { refusal, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { checkedFetch } from '../support/wires/serialItems.ts'

const OSLO = { name: 'weather', arguments: '{"city":"Oslo"}' }
const SCHEMA = { type: 'object' as const, properties: {} }
const FIRST = { role: 'user' as const, content: 'Where does it rain?' }
const RESULT = 'It rains, rain.'
/** As DeepSeek and Moonshot say it. */
const DEMANDS = [
  'The `reasoning_content` in the thinking mode must be passed back to the API.',
  'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
]

/** As Groq and Cerebras say it (QwenLM/qwen-code 11045, janhq/jan 8136). */
const UNSUPPORTED = [
  "'messages.N' : for 'role:assistant' the following must be satisfied[('messages.N' : property 'reasoning_content' is unsupported)]",
  "messages.N.assistant.reasoning_content: property 'messages.N.assistant.reasoning_content' is unsupported",
]

type Sent = Readonly<Record<string, unknown>>

let stack: Stack
let strict: TurnProvider
let plain: TurnProvider
let sparing: TurnProvider
let openai: OpenAI
let anthropic: Anthropic

const turnsOf = (body: Sent): readonly Sent[] => body['messages'] as readonly Sent[]
const reasoningOf = (body: Sent): unknown[] =>
  turnsOf(body)
    .filter(({ role }) => role === 'assistant')
    .map(({ reasoning_content: text }) => text)

function isRefused(body: Sent): boolean {
  const hasCalls = turnsOf(body).some(({ tool_calls: calls }) => calls !== undefined)
  return hasCalls && reasoningOf(body).some((text) => typeof text !== 'string' || text === '')
}

function answerTo(body: Sent): Turn {
  return JSON.stringify(body['messages']).includes(RESULT)
    ? { text: 'In Oslo.' }
    : { reasoning: 'I look at Oslo.', text: 'I look.', calls: [OSLO] }
}

before(async () => {
  strict = await TurnProvider.start(({ body, path }) =>
    isRefused(body) ? refusal(DEMANDS[body['model'] === 'kimi' ? 1 : 0] ?? '', path) : answerTo(body),
  )
  plain = await TurnProvider.start(({ body }) => answerTo(body))
  sparing = await TurnProvider.start(({ body, path }) => {
    const place = turnsOf(body).findIndex(({ reasoning_content: text }) => text !== undefined)
    return place < 0
      ? answerTo(body)
      : refusal(UNSUPPORTED[sparing.asked.length % 2]?.replaceAll('N', String(place)) ?? '', path)
  })
  const providers = [
    { id: 'strict', base_url: strict.url, extra_members: ['reasoning_content'] },
    { id: 'unsaid', base_url: strict.url },
    { id: 'plain', base_url: plain.url },
    { id: 'sparing', base_url: sparing.url },
    { id: 'blocks', base_url: plain.url, dialect: 'anthropic' },
  ]
  stack = await startStack({
    catalog: {
      providers,
      models: [
        ...turnModels(providers.map(({ id }) => id)),
        ...turnModels(['kimi']).map((model) => ({ ...model, routes: [{ provider: 'unsaid', model: 'kimi' }] })),
      ],
    },
  })
  const { apiKey } = await stack.createAccount()
  openai = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0, fetch: checkedFetch })
  anthropic = new Anthropic({ baseURL: stack.baseUrl, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.settled()
  await stack.audit()
  await stack.finish()
  await strict.stop()
  await plain.stop()
  await sparing.stop()
})

type Asking = (model: string, isStream: boolean) => Promise<(next: string) => Promise<string | null>>

/** Clients of chat, with what they keep of a message. */
function chats(kept: (message: OpenAI.Chat.ChatCompletionMessage & Sent) => Sent): Asking {
  return async (model, isStream) => {
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }]
    const body = { model, messages: [FIRST], tools }
    const { choices } = isStream
      ? await openai.chat.completions.stream(body).finalChatCompletion()
      : await openai.chat.completions.create(body)
    const message = kept(itemOf(choices, 0).message as unknown as OpenAI.Chat.ChatCompletionMessage & Sent)
    const calls = message['tool_calls'] as readonly { readonly id: string }[]
    const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: RESULT }))
    return async (next) => {
      const messages = [FIRST, message as unknown as OpenAI.Chat.ChatCompletionMessage, ...results]
      const { choices: said } = await openai.chat.completions.create({ model: next, messages, tools })
      return itemOf(said, 0).message.content
    }
  }
}

const messages: Asking = async (model, isStream) => {
  const tools = [{ name: 'weather', input_schema: SCHEMA }]
  const body = { model, max_tokens: 100, messages: [FIRST], tools }
  const { content } = isStream
    ? await anthropic.messages.stream(body).finalMessage()
    : await anthropic.messages.create(body)
  const results = content
    .filter((block) => block.type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: RESULT }) as const)
  return async (next) => {
    const said = [FIRST, { role: 'assistant', content } as const, { role: 'user', content: results } as const]
    const answer = await anthropic.messages.create({ model: next, max_tokens: 100, messages: said, tools })
    return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  }
}

const responses: Asking = async (model, isStream) => {
  const tools = [{ type: 'function' as const, name: 'weather', parameters: SCHEMA, strict: false }]
  const body = { model, input: [FIRST], tools }
  const { output } = isStream
    ? await openai.responses.stream(body).finalResponse()
    : await openai.responses.create(body)
  const results = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output', call_id: item.call_id, output: RESULT } as const]
      : [],
  )
  return async (next) => {
    const input = [FIRST, ...(output as OpenAI.Responses.ResponseInputItem[]), ...results]
    return (await openai.responses.create({ model: next, input, tools })).output_text
  }
}

const CLIENTS: readonly (readonly [title: string, client: Asking, back: string, plainGets: unknown])[] = [
  ['chats that keep the message', chats((message) => message), 'I look at Oslo.', 'I look at Oslo.'],
  [
    'chats that keep reasoning under another name',
    chats(({ reasoning_content: reasoning, ...message }) => ({ ...message, reasoning })),
    'I look at Oslo.',
    undefined,
  ],
  ['chats that keep no reasoning', chats(({ reasoning_content: _text, ...message }) => message), ' ', undefined],
  ['chats that keep an empty reasoning', chats((message) => ({ ...message, reasoning_content: '' })), ' ', ''],
  ['messages', messages, 'I look at Oslo.', undefined],
  ['responses', responses, 'I look at Oslo.', undefined],
]

describe('reasoning goes back to a provider that wants it', () => {
  for (const [title, client, back, plainGets] of CLIENTS) {
    for (const isStream of [true, false]) {
      test(`${title}, ${isStream ? 'streamed' : 'in one piece'}`, async () => {
        const next = await client('test/strict', isStream)
        assert.equal(await next('test/strict'), 'In Oslo.')
        assert.deepEqual(reasoningOf(strict.last.body), [back])
        assert.equal(await next('test/plain'), 'In Oslo.')
        assert.deepEqual(reasoningOf(plain.last.body), [plainGets])
        assert.doesNotMatch(JSON.stringify(plain.last.body), /kept_reasoning/)
        assert.equal(await next('test/blocks'), 'In Oslo.')
        assert.doesNotMatch(JSON.stringify(plain.last.body), /I look at Oslo|reasoning/)
      })
    }
  }

  test('thinking of Claude, whose conversation goes on with another model', async () => {
    const use = { type: 'tool_use', id: 't1', name: 'weather', input: {} } as const
    const thinking = { type: 'thinking', thinking: 'I look at Oslo.', signature: 'c2lnbmVk' } as const
    const result = { type: 'tool_result', tool_use_id: 't1', content: RESULT } as const
    await anthropic.messages.create({
      model: 'test/strict',
      max_tokens: 100,
      messages: [FIRST, { role: 'assistant', content: [thinking, use] }, { role: 'user', content: [result] }],
    })
    assert.deepEqual(reasoningOf(strict.last.body), ['I look at Oslo.'])
  })

  test('reasoning before several calls of one message is joined, and messages without calls get a blank', async () => {
    const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'weather', arguments: '{}' }) as const
    const thought = (text: string) => ({
      type: 'reasoning' as const,
      id: 'rs_1',
      summary: [],
      content: [{ type: 'reasoning_text' as const, text }],
    })
    const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: RESULT }) as const
    await openai.responses.create({
      model: 'test/strict',
      input: [
        FIRST,
        { role: 'assistant', content: 'Hello.' },
        FIRST,
        thought('one'),
        call('t1'),
        thought('two'),
        thought('three'),
        call('t2'),
        output('t1'),
        output('t2'),
      ],
    })
    assert.deepEqual(reasoningOf(strict.last.body), [' ', 'one\n\ntwo\n\nthree'])
  })

  test('a provider that refuses reasoning is asked once more without it', async () => {
    const turn = { role: 'assistant', content: 'In Oslo.', reasoning_content: 'I look at Oslo.' } as const
    for (const _sentence of UNSUPPORTED) {
      const before = sparing.asked.length
      const { choices } = await openai.chat.completions.create({
        model: 'test/sparing',
        messages: [FIRST, turn, { role: 'user', content: RESULT }],
      })
      assert.equal(itemOf(choices, 0).message.content, 'In Oslo.')
      assert.equal(sparing.asked.length, before + 2)
      assert.deepEqual(reasoningOf(sparing.last.body), [undefined])
    }
  })

  for (const model of ['test/unsaid', 'test/kimi']) {
    test(`${model} demands it, and its entry does not say so`, async () => {
      const call = { id: 'call_a', type: 'function' as const, function: { name: 'weather', arguments: '{}' } }
      const called = { role: 'assistant' as const, content: null, tool_calls: [call], reasoning: 'I look.' }
      const result = { role: 'tool' as const, tool_call_id: 'call_a', content: RESULT }
      const turns = [FIRST, called, result, { role: 'assistant' as const, content: 'In Oslo.' }, FIRST]
      for (const attempts of [2, 1]) {
        const before = strict.asked.length
        await openai.chat.completions.create({ model, messages: turns })
        assert.deepEqual([strict.asked.length - before, reasoningOf(strict.last.body)], [attempts, ['I look.', ' ']])
      }
      await openai.chat.completions.create({ model, messages: [FIRST, { role: 'assistant', content: 'Hi.' }, FIRST] })
      assert.deepEqual(reasoningOf(strict.last.body), [undefined])
    })
  }

  test('a conversation without calls gets no blanks', async () => {
    const turns = [FIRST, { role: 'assistant' as const, content: 'In Oslo.' }, FIRST]
    await openai.chat.completions.create({ model: 'test/plain', messages: turns })
    const { messages: asSent } = plain.last.body
    await openai.chat.completions.create({ model: 'test/strict', messages: turns })
    assert.deepEqual(strict.last.body['messages'], asSent)
  })

  test('a turn in which nothing but reasoning is kept is left out', async () => {
    const turn = { role: 'assistant', content: null, reasoning: 'hm' } as unknown as OpenAI.Chat.ChatCompletionMessage
    for (const model of ['test/strict', 'test/plain']) {
      await openai.chat.completions.create({ model, messages: [FIRST, turn, FIRST] })
      const { last } = model === 'test/strict' ? strict : plain
      assert.equal(turnsOf(last.body).length, 2)
    }
  })
})
