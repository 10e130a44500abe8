// Goal: a client learns that some of its tools were left out. One row a form of tools, for the clients of each format.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { postJson } from '../support/clients/mediaClient.ts'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

const SCHEMA = { type: 'object', properties: {} }
const own = { name: 'f', input_schema: SCHEMA }
const fn = { type: 'function', name: 'f', parameters: SCHEMA }
const chatFn = { type: 'function', function: { name: 'f', parameters: SCHEMA } }
const both = (tool: object) => ({ type: 'namespace', name: 'n', tools: [fn, tool] })

const ROWS: readonly (readonly [path: string, tools: readonly object[], dropped: string | null])[] = [
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

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  stack = await startStack({ catalog: turnCatalog(provider.url) })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

for (const dialect of OVER) {
  describe(`tools for a provider of the dialect ${dialect}`, () => {
    for (const [path, tools, dropped] of ROWS) {
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
