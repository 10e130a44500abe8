// Goal: more stop sequences than a provider takes never end in its refusal: it gets the first of them, and the answer names the
// member. One row a provider and a number of sequences, asked by clients of every format.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat } from '../support/clients/chatClient.ts'
import { postJson } from '../support/clients/mediaClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const KEY = { api_key_env: 'SLUICE_TEST_PROVIDER_KEY' }
/** Of each provider, its members in the catalog and the most sequences that it takes. */
const PROVIDERS: Readonly<Record<string, readonly [members: object, takes: number]>> = {
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
    const takes = PROVIDERS[String(body['model'])]?.[1] ?? 0
    const stops = [body['stop'] ?? body['stop_sequences'] ?? []].flat()
    return stops.length <= takes ? { text: 'ok' } : refusal(`Invalid 'stop': array too long (${stops.length}).`, path)
  })
  stack = await startStack({
    catalog: {
      providers: Object.entries(PROVIDERS).map(([id, [members]]) => ({ id, ...members, base_url: provider.url })),
      models: Object.keys(PROVIDERS).map((id) => ({
        id: `test/${id}`,
        endpoints: ['chat', 'messages', ...(id === 'anthropic' ? [] : ['completions'])],
        routes: [{ provider: id, model: id }],
      })),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
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
    for (const [id, [, takes]] of Object.entries(PROVIDERS)) {
      if (format === 'completions' && id === 'anthropic') continue
      for (const count of COUNTS.filter((count) => count <= 4 || format === 'messages')) {
        test(`${count} for a provider that takes ${takes}: ${id}`, async () => {
          const stops = Array.from({ length: count }, (_, i) => `stop ${i}`)
          const reply = await ask({ model: `test/${id}`, max_tokens: 50 }, stops)
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
  const reply = await chat(stack.baseUrl, apiKey, { model: 'test/one', stop: 'END' })
  assert.deepEqual([provider.last.body['stop'], reply.headers.get('x-dropped-parameters')], ['END', null])
})

test('an empty list, which OpenAI refuses, is left out', async () => {
  for (const format of ['chat', 'completions'] as const) {
    const reply = await FORMATS[format]({ model: 'test/usual', max_tokens: 50 }, [])
    assert.equal(reply.status, 200)
    assert.deepEqual(['stop' in provider.last.body, reply.headers.get('x-dropped-parameters')], [false, null])
  }
})

test('a large request, and a stream, are treated as others', async () => {
  const stop = ['a', 'b', 'c', 'd', 'e']
  const long = [{ role: 'user', content: 'long text '.repeat(40_000) }]
  for (const more of [{ messages: long }, { stream: true }]) {
    const reply = await messages(stack.baseUrl, apiKey, { model: 'test/usual', stop_sequences: stop, ...more })
    assert.deepEqual(provider.last.body['stop'], stop.slice(0, 4))
    assert.equal(reply.headers.get('x-dropped-parameters'), 'stop_sequences')
  }
})
