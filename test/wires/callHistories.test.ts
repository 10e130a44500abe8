// Goal: calls, choices and users that one provider takes do not end a conversation at another. The providers refuse as those of
// the field do: ids of more than 40 characters, arguments that are no JSON and users of more than 64 characters (OpenAI, vLLM);
// ids of two turns, names with a dot, a choice of no tool and the address of a person (Anthropic). One row a history.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { parseJsonObject } from '../../contract/std/jsonObject.ts'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { type Asked, refusal, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

type Value = Readonly<Record<string, unknown>>
interface Call {
  readonly id: string | number
  readonly name: string
  readonly text: string
}

const VLLM_ID = `chatcmpl-tool-${'0123456789abcdef'.repeat(2)}`

/** The calls of a history, one a turn, and their arguments at the provider. */
const ROWS: readonly (readonly [title: string, calls: readonly Call[], given: readonly object[]])[] = [
  ['an id of vLLM', [{ id: VLLM_ID, name: 'f', text: '{"a":1}' }], [{ a: 1 }]],
  ['an id of Gemini', [{ id: 'g'.repeat(391), name: 'f', text: '{"a":1}' }], [{ a: 1 }]],
  [
    'ids that each turn numbers anew',
    [1, 2, 3].map((a) => ({ id: 'list_dir:0', name: 'f', text: `{"a":${a}}` })),
    [{ a: 1 }, { a: 2 }, { a: 3 }],
  ],
  [
    'ids that differ in a character that is not taken',
    ['f:0', 'f_0'].map((id) => ({ id, name: 'f', text: '{}' })),
    [{}, {}],
  ],
  ['ids that are numbers', [7, 8].map((id) => ({ id, name: 'f', text: '{}' })), [{}, {}]],
  ['arguments that were cut off', [{ id: 't1', name: 'f', text: '{"value": ' }], [{ arguments: '{"value": ' }]],
  ['arguments that are no object', [{ id: 't1', name: 'f', text: '[1]' }], [{ arguments: '[1]' }]],
]

let stack: Stack
let provider: TurnProvider
let apiKey: string

const list = (value: unknown): readonly Value[] => (Array.isArray(value) ? (value as Value[]) : [])

/** The ids and the arguments of the calls that a provider got, and the ids of the results. */
function callsIn({ path, body }: Asked): { ids: unknown[]; names: unknown[]; given: unknown[]; results: unknown[] } {
  const said = list(body['messages'])
  if (path.endsWith('/messages')) {
    const blocks = said.flatMap(({ content }) => list(content))
    const uses = blocks.filter(({ type }) => type === 'tool_use')
    const results = blocks.filter(({ type }) => type === 'tool_result')
    return {
      ids: uses.map(({ id }) => id),
      names: uses.map(({ name }) => name),
      given: uses.map(({ input }) => input),
      results: results.map(({ tool_use_id: id }) => id),
    }
  }
  const calls = said.flatMap(({ tool_calls: made }) => list(made))
  const functions = calls.map(({ function: named }) => named as Value)
  return {
    ids: calls.map(({ id }) => id),
    names: functions.map(({ name }) => name),
    given: functions.map(({ arguments: text }) => parseJsonObject(String(text)) ?? text),
    results: said.filter(({ role }) => role === 'tool').map(({ tool_call_id: id }) => id),
  }
}

function answer(asked: Asked): Turn {
  const { ids, names, given } = callsIn(asked)
  const { user, metadata, tool_choice: choice, tools } = asked.body
  if (ids.some((id) => typeof id !== 'string')) return refusal('id: Input should be a valid string')
  if (!asked.path.endsWith('/messages')) {
    if (ids.some((id) => String(id).length > 40)) return refusal('tool_calls[0].id: string too long')
    if (given.some((input) => typeof input === 'string')) return refusal('arguments: not valid JSON')
    return typeof user === 'string' && user.length > 64 ? refusal('user: string too long') : { text: 'ok' }
  }
  if (new Set(ids).size < ids.length) return refusal('`tool_use` ids must be unique')
  if (names.some((name) => !/^[\w-]{1,128}$/.test(String(name)))) return refusal('tool_use.name: pattern')
  const { user_id: person } = (metadata ?? {}) as Value
  if (/[@+]/.test(String(person))) return refusal('user_id appears to contain an email address')
  const { name: chosen } = (choice ?? {}) as Value
  const isOffered = chosen === undefined || list(tools).some(({ name }) => name === chosen)
  return isOffered ? { text: 'ok' } : refusal('Tool not found in provided tools')
}

before(async () => {
  provider = await TurnProvider.start(answer)
  const { providers = [], models = [] } = turnCatalog(provider.url)
  const [model] = models
  stack = await startStack({
    catalog: {
      providers: [...providers, { id: 'nine', base_url: provider.url, call_id_characters: 9 }],
      models: [...models, { ...model, id: 'test/nine', routes: [{ provider: 'nine', model: 'm' }] }],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const CLIENTS: Readonly<
  Record<string, (model: string, calls: readonly Call[]) => Promise<{ status: number; text: string }>>
> = {
  chat: (model, calls) =>
    chat(stack.baseUrl, apiKey, {
      model,
      messages: [
        HELLO,
        ...calls.flatMap(({ id, name, text }) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id, type: 'function', function: { name, arguments: text } }],
          },
          { role: 'tool', tool_call_id: id, content: 'x' },
        ]),
      ],
    }),
  Messages: (model, calls) =>
    messages(stack.baseUrl, apiKey, {
      model,
      messages: [
        HELLO,
        ...calls.flatMap(({ id, name, text }) => [
          { role: 'assistant', content: [{ type: 'tool_use', id, name, input: text }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
        ]),
      ],
    }),
  responses: (model, calls) =>
    post(stack.baseUrl, '/v1/responses', apiKey, {
      model,
      input: [
        HELLO,
        ...calls.flatMap(({ id, name, text }) => [
          { type: 'function_call', call_id: id, name, arguments: text },
          { type: 'function_call_output', call_id: id, output: 'x' },
        ]),
      ],
    }),
}

for (const [client, send] of Object.entries(CLIENTS)) {
  for (const dialect of OVER) {
    describe(`a history of ${client} over ${dialect}`, () => {
      for (const [title, calls, given] of ROWS) {
        test(title, async () => {
          const reply = await send(`test/${dialect}`, calls)
          assert.equal(reply.status, 200, reply.text)
          const got = callsIn(provider.last)
          assert.deepEqual(got.given, given)
          assert.deepEqual(got.results, got.ids)
          // The beginning of a conversation stays what it was, so that it is cached.
          await send(`test/${dialect}`, [...calls, { id: 'new', name: 'f', text: '{}' }])
          assert.deepEqual(callsIn(provider.last).ids.slice(0, calls.length), got.ids)
        })
      }
    })
  }
}

describe('ids for a provider that takes nine letters and digits', () => {
  const HISTORIES: readonly (readonly [title: string, ids: readonly string[]])[] = [
    ['of OpenAI', ['call_0fypS1hVXabcdefghijklmno', 'call_0fypS1hVXabcdefghijklmnp']],
    ['of Anthropic', ['toolu_01A09q90qw90lq917835lq9', 'toolu_01A09q90qw90lq917835lq8']],
    ['that a model numbers', ['turn1_0', 'turn1_0', '0', 'f:0', 'f_0']],
    ['of nine characters, not all of them letters and digits', ['call_12-4']],
    ['of vLLM', [VLLM_ID]],
  ]
  for (const [client, send] of Object.entries(CLIENTS)) {
    for (const [title, ids] of HISTORIES) {
      test(`${title}, from ${client}`, async () => {
        const reply = await send(
          'test/nine',
          ids.map((id) => ({ id, name: 'f', text: '{}' })),
        )
        assert.equal(reply.status, 200, reply.text)
        const got = callsIn(provider.last)
        assert.equal(new Set(got.ids).size, ids.length)
        for (const id of got.ids) assert.match(String(id), /^[a-zA-Z0-9]{9}$/)
        assert.deepEqual(got.results, got.ids)
      })
    }

    test(`its own stay, from ${client}`, async () => {
      await send('test/nine', [{ id: 'D681PevKs', name: 'f', text: '{}' }])
      assert.deepEqual(callsIn(provider.last).ids, ['D681PevKs'])
    })
  }
})

test('a name that a model has made up is one that the Anthropic format takes', async () => {
  for (const send of Object.values(CLIENTS)) {
    const reply = await send('test/anthropic', [{ id: 't1', name: 'multi_tool_use.parallel', text: '{}' }])
    assert.equal(reply.status, 200, reply.text)
  }
})

describe('users', () => {
  const CLAUDE = `user_${'a'.repeat(64)}_account__session_${'b'.repeat(36)}`

  test('of Claude Code are short enough for OpenAI, and the same for the same user', async () => {
    const body = { model: 'test/openai', messages: [HELLO], metadata: { user_id: CLAUDE } }
    const users = []
    for (const id of [CLAUDE, CLAUDE, `${CLAUDE}c`, 'short']) {
      const reply = await messages(stack.baseUrl, apiKey, { ...body, metadata: { user_id: id } })
      assert.equal(reply.status, 200, reply.text)
      users.push(provider.last.body['user'])
    }
    assert.deepEqual([users[0] === users[1], users[1] === users[2], users[3]], [true, false, 'short'])
  })

  for (const user of ['alice@example.com', '+1 (555) 123-4567', '0049 30 1234567']) {
    test(`${user} is no address for Anthropic`, async () => {
      const reply = await chat(stack.baseUrl, apiKey, { model: 'test/anthropic', messages: [HELLO], user })
      assert.equal(reply.status, 200, reply.text)
      assert.match(String((provider.last.body['metadata'] as Value)['user_id']), /^[0-9a-f]{64}$/)
    })
  }

  test('that are no address are sent as they are', async () => {
    await chat(stack.baseUrl, apiKey, { model: 'test/anthropic', messages: [HELLO], user: 'user-1234567' })
    assert.deepEqual(provider.last.body['metadata'], { user_id: 'user-1234567' })
  })
})

test('a choice of a tool that is left out leaves the choice to the model', async () => {
  for (const dialect of OVER) {
    const reply = await messages(stack.baseUrl, apiKey, {
      model: `test/${dialect}`,
      messages: [HELLO],
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        { name: 'f', input_schema: { type: 'object' } },
      ],
      tool_choice: { type: 'tool', name: 'bash', disable_parallel_tool_use: true },
    })
    assert.equal(reply.status, 200, reply.text)
    const { tool_choice: choice } = provider.last.body
    assert.deepEqual(choice, dialect === 'openai' ? 'auto' : { type: 'auto', disable_parallel_tool_use: true })
  }
})

test('the failure of a tool without a word is a failure for a provider of the dialect openai', async () => {
  const failed = { type: 'tool_result', tool_use_id: 't1', is_error: true }
  const reply = await messages(stack.baseUrl, apiKey, {
    model: 'test/openai',
    messages: [
      HELLO,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
      { role: 'user', content: [failed] },
    ],
  })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(list(provider.last.body['messages']).at(-1), { role: 'tool', tool_call_id: 't1', content: 'error' })
})

test('half a character is no text for a provider, in small and large bodies', async () => {
  for (const filler of [0, 400_000]) {
    const call: Call = { id: 't1', name: 'f', text: '{"q":"a\\ud83d"}' }
    for (const [client, send] of Object.entries(CLIENTS)) {
      const reply = await send('test/anthropic', [
        call,
        { id: 't2', name: 'f', text: `{"q":"${'x '.repeat(filler / 2)}"}` },
      ])
      assert.equal(reply.status, 200, `${client}: ${reply.text}`)
      assert.doesNotMatch(JSON.stringify(provider.last.body), /\\ud83d/)
    }
    const content = `cut \ud83d${'x '.repeat(filler / 2)}`
    const reply = await chat(stack.baseUrl, apiKey, { model: 'test/openai', messages: [{ role: 'user', content }] })
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(list(provider.last.body['messages']).at(-1), {
      role: 'user',
      content: content.replace('\ud83d', '\ufffd'),
    })
  }
})
