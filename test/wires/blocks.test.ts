import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { BLOCK_KINDS } from '../../proxy/dialects/anthropic/blockKinds.ts'
import { messages, messagesStream } from '../support/clients/messagesClient.ts'
import { type Dialect, OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { assistant, HELLO, REFUSED, ROWS, result, text } from './blockRows.ts'

let stack: Stack
let provider: TurnProvider
let apiKey: string
let client: Anthropic

before(async () => {
  provider = await TurnProvider.start(({ body }) => {
    const { content } = (body['messages'] as { content: unknown }[]).at(-1) ?? {}
    return typeof content === 'string' && content.startsWith('{') ? { calls: [JSON.parse(content)] } : { text: 'ok' }
  })
  stack = await startStack({
    catalog: turnCatalog(provider.url),
  })
  apiKey = (await stack.createAccount()).apiKey
  client = new Anthropic({ baseURL: stack.baseUrl, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('blocks of a history', () => {
  for (const row of ROWS) {
    for (const dialect of OVER) {
      test(`${row.title}, over ${dialect}`, async () => {
        const all = [...row.history, HELLO] as Anthropic.MessageParam[]
        const answer = await client.messages.create({ model: `test/${dialect}`, max_tokens: 100, messages: all })
        assert.deepEqual(answer.content, [text('ok')])
        assert.deepEqual(provider.last.body['messages'], [...row[dialect], HELLO])
      })
    }
  }

  for (const [title, message, param] of REFUSED) {
    test(`refused: ${title} of the newest message`, async () => {
      const reply = await messages(stack.baseUrl, apiKey, { model: 'test/openai', messages: [message] })
      assert.equal(reply.status, 400)
      assert.equal((JSON.parse(reply.text) as { error: { param: string } }).error.param, param)
    })
  }

  test('every kind of the table has a row', () => {
    const tried = JSON.stringify(ROWS)
    const own = new Set(['tool_addition', 'tool_removal'])
    assert.deepEqual(
      Object.keys(BLOCK_KINDS).filter((kind) => !own.has(kind) && !tried.includes(`"type":"${kind}"`)),
      [],
    )
  })
})

const tool = (name: string, description?: string) => ({
  name,
  input_schema: { type: 'object', properties: {} },
  ...(description !== undefined && { description }),
})
const LONG = `mcp__${'server_'.repeat(12)}__read`

const namesOf: Readonly<Record<Dialect, (body: Record<string, unknown>) => unknown[]>> = {
  openai: ({ tools }) => (tools as { function: { name: string } }[]).map((each) => each.function.name),
  anthropic: ({ tools }) => (tools as { name: string }[]).map(({ name }) => name),
}

describe('tools of a conversation', () => {
  for (const dialect of OVER) {
    const model = `test/${dialect}`

    test(`tools that messages add join, over ${dialect}`, async () => {
      const added = [tool('f', 'new'), tool('g')].map((definition) => ({
        type: 'tool_addition',
        tool: { type: 'tool_definition', definition },
      }))
      const known = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } }
      const removed = { type: 'tool_removal', tool: { type: 'tool_reference', name: 'h' } }
      const all = [HELLO, { role: 'system', content: [...added, known, removed] }]
      const reply = await messages(stack.baseUrl, apiKey, { model, messages: all, tools: [tool('f', 'old')] })
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(namesOf[dialect](provider.last.body), ['f', 'g'])
      assert.deepEqual(provider.last.body['messages'], [HELLO])
    })

    test(`a request may have 512 tools, over ${dialect}`, async () => {
      const tools = Array.from({ length: 512 }, (_, i) => tool(`f${i}`))
      const reply = await messages(stack.baseUrl, apiKey, { model, tools })
      assert.equal(reply.status, 200, reply.text)
      assert.equal(namesOf[dialect](provider.last.body).length, 512)
    })
  }

  test('a name that a provider does not take is shortened, also in the history, and comes back whole', async () => {
    const call = { type: 'tool_use', id: 't1', name: LONG, input: {} }
    const body = { model: 'test/openai', tools: [tool(LONG)], tool_choice: { type: 'tool', name: LONG } }
    await messages(stack.baseUrl, apiKey, { ...body, messages: [assistant(call), result('x'), HELLO] })
    const asked = provider.last.body as {
      messages: [{ tool_calls: [{ function: { name: string } }] }]
      tool_choice: { function: { name: string } }
    }
    const [name] = namesOf.openai(asked) as [string]
    assert.ok(name.length <= 64)
    assert.equal(asked.messages[0].tool_calls[0].function.name, name)
    assert.equal(asked.tool_choice.function.name, name)
    const script = [{ role: 'user', content: JSON.stringify({ name, arguments: '{}' }) }]
    const whole = await messages(stack.baseUrl, apiKey, { ...body, messages: script })
    assert.equal(
      (JSON.parse(whole.text) as Anthropic.Message).content.map((block) => Reflect.get(block, 'name')).join(),
      LONG,
    )
    const { answer } = await messagesStream(stack.baseUrl, apiKey, { ...body, messages: script })
    assert.equal(answer.content[0]?.name, LONG)
  })

  test('a provider of the same format gets the name as it is', async () => {
    await messages(stack.baseUrl, apiKey, { model: 'test/anthropic', tools: [tool(LONG)] })
    assert.deepEqual(namesOf.anthropic(provider.last.body), [LONG])
  })
})
