// Goal: a client learns what its request was sent without, and only that: options of sampling, tools, and more stop sequences than a
// provider takes, which never end in its refusal. One row a combination of options, a form of tools, or a provider and a number of
// sequences, for the clients of each format.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat } from '../support/clients/chatClient.ts'
import { postJson } from '../support/clients/mediaClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

const HEAT = { temperature: 0.7 }
const BOTH = { ...HEAT, top_p: 0.9 }
const ALL = { ...BOTH, top_k: 5 }
const NAMES = ['temperature', 'top_p', 'top_k']

interface Sampling {
  readonly given: object
  readonly thinks?: true
  readonly sent: object
}

const SAMPLING: readonly Sampling[] = [
  { given: {}, sent: {} },
  { given: HEAT, sent: HEAT },
  { given: { top_p: 0.9 }, sent: { top_p: 0.9 } },
  { given: BOTH, sent: HEAT },
  { given: ALL, sent: { ...HEAT, top_k: 5 } },
  { given: { top_p: 0.9, top_k: 5 }, sent: { top_p: 0.9, top_k: 5 } },
  // The format takes none of them while a model thinks.
  { given: {}, thinks: true, sent: {} },
  { given: HEAT, thinks: true, sent: {} },
  { given: BOTH, thinks: true, sent: {} },
  { given: ALL, thinks: true, sent: {} },
]

const SCHEMA = { type: 'object', properties: {} }
const own = { name: 'f', input_schema: SCHEMA }
const fn = { type: 'function', name: 'f', parameters: SCHEMA }
const chatFn = { type: 'function', function: { name: 'f', parameters: SCHEMA } }
const both = (tool: object) => ({ type: 'namespace', name: 'n', tools: [fn, tool] })

const TOOLS: readonly (readonly [path: string, tools: readonly object[], dropped: string | null])[] = [
  ['messages', [own], null],
  ['messages', [own, { type: 'custom', ...own, name: 'g' }, own], null],
  ['messages', [own, { type: 'bash_20250124', name: 'bash' }], 'tools'],
  ['messages', [{ type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }], 'tools'],
  ['messages', [{ type: 'memory_20250818', name: 'memory' }], 'tools'],
  ['messages', [own, { type: 'web_search_20250305', name: 'web_search' }], 'tools'],
  ['responses', [fn, { type: 'shell' }, { type: 'apply_patch' }, { type: 'local_shell' }], null],
  ['responses', [both({ type: 'custom', name: 'g' })], null],
  ['responses', [both({ type: 'mcp' })], 'tools'],
  ['responses', [fn, { type: 'web_search' }], 'tools'],
  ['responses', [{ type: 'tool_search' }], 'tools'],
  ['chat/completions', [chatFn], null],
  ['chat/completions', [chatFn, { type: 'web_search' }], 'tools'],
  ['chat/completions', [{ type: 'code_interpreter' }], 'tools'],
]

const KEY = { api_key_env: 'SLUICE_TEST_PROVIDER_KEY' }
/** Of each provider, its members in the catalog and the most sequences that it takes. */
const STOPPED: Readonly<Record<string, readonly [members: object, takes: number]>> = {
  usual: [{ dialect: 'openai' }, 4],
  formed: [{ dialect: 'openai', omit_members: ['seed'] }, 4],
  sixteen: [{ dialect: 'openai', stop_sequences_max: 16 }, 16],
  one: [{ dialect: 'openai', stop_sequences_max: 1 }, 1],
  deepseek: [{ preset: 'deepseek', ...KEY }, 16],
  vllm: [{ preset: 'vllm' }, 64],
  none: [{ dialect: 'openai', omit_members: ['stop'] }, 0],
  anthropic: [{ dialect: 'anthropic' }, 64],
}
const COUNTS = [1, 2, 4, 5, 16, 17, 64]

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start(({ body, path }) => {
    const takes = STOPPED[String(body['model'])]?.[1] ?? 0
    const stops = [body['stop'] ?? body['stop_sequences'] ?? []].flat()
    return stops.length <= takes ? { text: 'ok' } : refusal(`Invalid 'stop': array too long (${stops.length}).`, path)
  })
  const { providers = [], models = [] } = turnCatalog(provider.url, { thinking: 'effort' })
  const stopped = Object.entries(STOPPED)
  stack = await startStack({
    catalog: {
      providers: [
        ...providers,
        ...stopped.map(([id, [members]]) => ({ id: `stop_${id}`, ...members, base_url: provider.url })),
      ],
      models: [
        ...models,
        ...stopped.map(([id]) => ({
          id: `stop/${id}`,
          endpoints: ['chat', 'messages', ...(id === 'anthropic' ? [] : ['completions'])],
          routes: [{ provider: `stop_${id}`, model: id }],
        })),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const model = 'test/anthropic'
const SAMPLED = {
  chat: (given: object, thinks: boolean) =>
    chat(stack.baseUrl, apiKey, { model, messages: [HELLO], ...given, ...(thinks && { reasoning_effort: 'low' }) }),
  responses: (given: object, thinks: boolean) => {
    const body = { model, input: 'hi', ...given, ...(thinks && { reasoning: { effort: 'low' } }) }
    return post(stack.baseUrl, '/v1/responses', apiKey, body)
  },
}

for (const [format, ask] of Object.entries(SAMPLED)) {
  describe(`options of sampling of ${format}`, () => {
    for (const { given, thinks = false, sent } of SAMPLING) {
      // Responses have no top_k, which is named as unknown there.
      if (format === 'responses' && 'top_k' in given) continue
      for (const stream of [false, true]) {
        test(`${JSON.stringify(given)}${thinks ? ', thinking' : ''}, stream ${stream}`, async () => {
          const reply = await ask({ ...given, stream }, thinks)
          assert.equal(reply.status, 200)
          const { body } = provider.last
          assert.deepEqual(
            Object.fromEntries(NAMES.flatMap((name) => (name in body ? [[name, body[name]]] : []))),
            sent,
          )
          const dropped = NAMES.filter((name) => name in given && !(name in sent))
          assert.equal(reply.headers.get('x-dropped-parameters'), dropped.length === 0 ? null : dropped.join(', '))
        })
      }
    }
  })
}

for (const [preferences, dropped] of [
  [{ data_collection: 'deny' }, 'provider'],
  [{ allow_retention: false, order: ['x'], allow_fallbacks: false }, 'provider'],
  [{ allow_retention: false, allow_registered: false, max_price: { prompt: 9 }, zdr: null }, null],
] as const) {
  for (const [path, said] of [
    ['chat/completions', { messages: [HELLO] }],
    ['messages', { messages: [HELLO], max_tokens: 100 }],
    ['responses', { input: 'hi' }],
  ] as const) {
    test(`preferences of another gateway are named: ${path} ${JSON.stringify(preferences)}`, async () => {
      const body = { model, ...said, provider: preferences }
      const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.headers.get('x-dropped-parameters'), dropped)
    })
  }
}

for (const [given, dropped] of [
  [{ response_format: { type: 'grammar', grammar: 'root ::= "a"' } }, 'response_format'],
  [{ reasoning_effort: 'ultra' }, 'reasoning_effort'],
  [
    { ...BOTH, response_format: { type: 'regex' }, reasoning_effort: 'ultra' },
    'top_p, response_format, reasoning_effort',
  ],
  [{ response_format: { type: 'text' }, reasoning_effort: 'none' }, null],
  [{ response_format: { type: 'json_object' }, reasoning_effort: 'minimal' }, null],
] as const) {
  test(`values that the format cannot say are named: ${JSON.stringify(given)}`, async () => {
    const reply = await chat(stack.baseUrl, apiKey, { model, messages: [HELLO], ...given })
    assert.equal(reply.status, 200, reply.text)
    assert.equal(reply.headers.get('x-dropped-parameters'), dropped)
  })
}

test('members of a text completion that no provider gets are named, beside those that this one lacks', async () => {
  const known = { seed: 1, best_of: 1, n: 1, echo: false, suffix: null, provider: { zdr: true } }
  for (const [id, dropped] of [
    ['usual', 'provider, foo, tools'],
    ['none', 'provider, foo, tools, stop'],
  ]) {
    const body = { model: `stop/${id}`, prompt: 'hi', max_tokens: 50, foo: 1, ...known, tools: [], stop: 'END' }
    const reply = await postJson(`${stack.baseUrl}/v1/completions`, apiKey, body)
    assert.equal(reply.status, 200, reply.text)
    assert.equal(reply.headers.get('x-dropped-parameters'), dropped)
  }
})

test('options of sampling are named beside other members, and of a large request', async () => {
  const messages = [{ role: 'user', content: 'long text '.repeat(40_000) }]
  const others = { seed: 1, foo: 1, min_p: 0.1, repetition_penalty: 1.1 }
  const reply = await chat(stack.baseUrl, apiKey, { model, messages, ...BOTH, ...others })
  assert.equal(reply.headers.get('x-dropped-parameters'), 'foo, seed, min_p, repetition_penalty, top_p')
})

test('clients of Messages have all options of sampling sent, as they wrote them', async () => {
  const reply = await messages(stack.baseUrl, apiKey, { model, messages: [HELLO], ...ALL })
  assert.deepEqual({ ...provider.last.body, ...ALL }, provider.last.body)
  assert.equal(reply.headers.get('x-dropped-parameters'), null)
})

for (const dialect of OVER) {
  describe(`tools for a provider of the dialect ${dialect}`, () => {
    for (const [path, tools, dropped] of TOOLS) {
      test(`${path}: ${JSON.stringify(tools)}`, async () => {
        const prompt = path === 'responses' ? { input: 'hi' } : { messages: [HELLO], max_tokens: 100 }
        const body = { model: `test/${dialect}`, tools, ...prompt }
        const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body)
        assert.equal(reply.status, 200, reply.text)
        assert.equal(reply.headers.get('x-dropped-parameters'), dropped)
      })
    }
  })
}

test('tools are named beside other members', async () => {
  const body = { model: 'test/openai', input: 'hi', foo: 1, tools: [{ type: 'web_search' }] }
  const reply = await postJson(`${stack.baseUrl}/v1/responses`, apiKey, body)
  assert.equal(reply.headers.get('x-dropped-parameters'), 'foo, tools')
})

interface Body {
  readonly max_tokens: number
  readonly model: string
}

/** Clients of the formats of OpenAI send at most as many as it takes. */
const FORMATS = {
  chat: (body: Body, stop: unknown) => chat(stack.baseUrl, apiKey, { ...body, stop }),
  messages: (body: Body, stop: unknown) => messages(stack.baseUrl, apiKey, { ...body, stop_sequences: stop }),
  completions: (body: Body, stop: unknown) =>
    postJson(`${stack.baseUrl}/v1/completions`, apiKey, { ...body, prompt: 'hi', stop }),
}

for (const [format, ask] of Object.entries(FORMATS)) {
  describe(`stop sequences of ${format}`, () => {
    for (const [id, [, takes]] of Object.entries(STOPPED)) {
      if (format === 'completions' && id === 'anthropic') continue
      for (const count of COUNTS.filter((count) => count <= 4 || format === 'messages')) {
        test(`${count} for a provider that takes ${takes}: ${id}`, async () => {
          const stops = Array.from({ length: count }, (_, i) => `stop ${i}`)
          const reply = await ask({ model: `stop/${id}`, max_tokens: 50 }, stops)
          assert.equal(reply.status, 200)
          const { body } = provider.last
          const sent = stops.slice(0, takes)
          assert.deepEqual(body['stop'] ?? body['stop_sequences'] ?? [], sent)
          const name = format === 'messages' ? 'stop_sequences' : 'stop'
          assert.equal(reply.headers.get('x-dropped-parameters'), count > takes ? name : null)
        })
      }
    }
  })
}

test('one sequence as a text is sent as it came', async () => {
  const reply = await chat(stack.baseUrl, apiKey, { model: 'stop/one', stop: 'END' })
  assert.deepEqual([provider.last.body['stop'], reply.headers.get('x-dropped-parameters')], ['END', null])
})

test('an empty list, which OpenAI refuses, is left out', async () => {
  for (const format of ['chat', 'completions'] as const) {
    const reply = await FORMATS[format]({ model: 'stop/usual', max_tokens: 50 }, [])
    assert.equal(reply.status, 200)
    assert.deepEqual(['stop' in provider.last.body, reply.headers.get('x-dropped-parameters')], [false, null])
  }
})

test('a large request, and a stream, are treated as others', async () => {
  const stop = ['a', 'b', 'c', 'd', 'e']
  const long = [{ role: 'user', content: 'long text '.repeat(40_000) }]
  for (const more of [{ messages: long }, { stream: true }]) {
    const reply = await messages(stack.baseUrl, apiKey, { model: 'stop/usual', stop_sequences: stop, ...more })
    assert.deepEqual(provider.last.body['stop'], stop.slice(0, 4))
    assert.equal(reply.headers.get('x-dropped-parameters'), 'stop_sequences')
  }
})
