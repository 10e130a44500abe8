// Goal: a history with calls is taken by providers of the Anthropic dialect although its request offers no tools, which they
// refuse, and the hold covers what is added. One row a history.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { post } from '../support/clients/responsesClient.ts'
import { turnCatalog } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const LONG = `mcp__${'server_'.repeat(12)}__read`
const definition = (name: string) => ({ name, input_schema: { type: 'object', properties: {} } })

/** The same calls as each format has them. */
const FORMATS: Readonly<Record<string, (names: readonly string[]) => object>> = {
  '/v1/chat/completions': (names) => ({
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: names.map((name, i) => ({ id: `t${i}`, type: 'function', function: { name, arguments: '{}' } })),
      },
      ...names.map((_, i) => ({ role: 'tool', tool_call_id: `t${i}`, content: 'x' })),
    ],
  }),
  '/v1/messages': (names) => ({
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: names.map((name, i) => ({ type: 'tool_use', id: `t${i}`, name, input: {} })) },
      { role: 'user', content: names.map((_, i) => ({ type: 'tool_result', tool_use_id: `t${i}`, content: 'x' })) },
    ],
  }),
  '/v1/responses': (names) => ({
    input: [
      { role: 'user', content: 'go' },
      ...names.map((name, i) => ({ type: 'function_call', call_id: `t${i}`, name, arguments: '{}' })),
      ...names.map((_, i) => ({ type: 'function_call_output', call_id: `t${i}`, output: 'x' })),
    ],
  }),
}

const ROWS: readonly (readonly [title: string, names: readonly string[], defined: readonly string[]])[] = [
  ['one call', ['read'], ['read']],
  ['several calls of the same tools', ['read', 'write', 'read'], ['read', 'write']],
  ['more tools than are defined', numbered(200), numbered(128)],
]

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `f${i}`)
}

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  stack = await startStack({
    catalog: turnCatalog(provider.url),
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

async function asked(path: string, model: string, body: object): Promise<Record<string, unknown>> {
  const reply = await post(stack.baseUrl, path, apiKey, { model, ...body })
  assert.equal(reply.status, 200, reply.text)
  return provider.last.body
}

for (const [path, historyOf] of Object.entries(FORMATS)) {
  describe(`calls of a history without tools: ${path}`, () => {
    for (const [title, names, defined] of ROWS) {
      test(title, async () => {
        const { tools, tool_choice: choice } = await asked(path, 'test/anthropic', historyOf(names))
        assert.deepEqual(tools, defined.map(definition))
        assert.deepEqual(choice, { type: 'none' })
      })
    }

    test('a provider of the OpenAI dialect needs no tools', async () => {
      const body = await asked(path, 'test/openai', historyOf(['read']))
      assert.ok(!('tools' in body) && !('tool_choice' in body))
    })

    test('a conversation without calls gets no tools', async () => {
      const said = [{ role: 'user', content: 'go' }]
      const body = await asked(path, 'test/anthropic', { ...historyOf(['read']), messages: said, input: said })
      assert.ok(!('tools' in body) && !('tool_choice' in body))
    })
  })
}

test('tools that a request offers are the only ones', async () => {
  const body = { ...FORMATS['/v1/messages']?.(['read']), tools: [definition('write')] }
  assert.deepEqual((await asked('/v1/messages', 'test/anthropic', body))['tools'], [definition('write')])
})

test('a tool is defined by the name that its calls have at the provider', async () => {
  const { tools, messages } = await asked('/v1/responses', 'test/anthropic', FORMATS['/v1/responses']?.([LONG]) ?? {})
  const [{ name }] = tools as [{ name: string }]
  assert.ok(name.length <= 64)
  const [, { content }] = messages as [unknown, { content: [{ name: string }] }]
  assert.equal(content[0].name, name)
})
