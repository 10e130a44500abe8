// Goal: odd streams of providers reach clients in a form that their packages take. One row a stream, read by the packages.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { receiptOf } from '../support/clients/chatClient.ts'
import { postJson } from '../support/clients/mediaClient.ts'
import { beginEvents, chunk, event, type Play, ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const call = (name: string, args: string) => ({ id: 'c1', type: 'function', function: { name, arguments: args } })

/** Arguments as a model has written them, and the input of the call that a client of Messages gets. */
const ARGUMENTS: readonly (readonly [pieces: readonly string[], input: unknown])[] = [
  [['ls ', '-la'], { arguments: 'ls -la' }],
  [["{'a'", ': 1}'], { arguments: "{'a': 1}" }],
  [['[1,', '2]'], { arguments: '[1,2]' }],
  [['"x"'], { arguments: '"x"' }],
  [['null'], {}],
  [['[', ']'], {}],
  [[' '], {}],
  [[' { ', '"a":1}'], { a: 1 }],
  [['{', '}'], {}],
  [['{"a":1}', '{"a":1}'], { a: 1 }],
  [['{"a"', ':1}{"a"', ':1}'], { a: 1 }],
  [['{"a":1}{"a":1}'], { arguments: '{"a":1}{"a":1}' }],
  [['{"a":"', 'b"', '}'], { a: 'b' }],
]
const ROLES: readonly (readonly [title: string, deltas: readonly object[]])[] = [
  ['no role', [{ content: 'A' }, { content: 'B' }]],
  [
    'a role of null',
    [
      { role: null, content: 'A' },
      { role: null, content: 'B' },
    ],
  ],
  [
    'an empty role',
    [
      { role: '', content: 'A' },
      { role: '', content: 'B' },
    ],
  ],
  [
    'the role of another format',
    [
      { role: 'model', content: 'A' },
      { role: 'model', content: 'B' },
    ],
  ],
  ['a role with the first piece', [{ role: 'assistant', content: 'A' }, { content: 'B' }]],
  [
    'a role with a call whose arguments follow',
    [
      { role: 'assistant', content: null, tool_calls: [{ index: 0, ...call('f', '') }] },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
    ],
  ],
  ['a call without a role', [{ tool_calls: [{ index: 0, ...call('f', '{}') }] }]],
]

const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
const streamed =
  (deltas: readonly object[], finish: string): Play =>
  (response) => {
    beginEvents(response)
    for (const delta of deltas) event(response, chunk(delta))
    event(response, { ...(chunk({}, finish) as object), usage })
    response.end('data: [DONE]\n\n')
  }
/** A report after the end that the provider has stated. */
const lateUsage: Play = (response) => {
  beginEvents(response)
  event(response, chunk({ role: 'assistant', content: 'A' }))
  const report = JSON.stringify({ choices: [], usage })
  response.end(`data: ${JSON.stringify(chunk({}, 'stop'))}\n\ndata: [DONE]\n\ndata: ${report}\n\n`)
}
/** Streams whose body goes on after the end that the provider has stated. */
let openBodies = 0
const endlessBody: Play = (response) => {
  openBodies++
  beginEvents(response)
  event(response, chunk({ role: 'assistant', content: 'A' }))
  event(response, { ...(chunk({}, 'stop') as object), usage })
  response.write('data: [DONE]\n\n')
  const comments = setInterval(() => response.write(': ping\n\n'), 50)
  response.on('close', () => {
    clearInterval(comments)
    openBodies--
  })
}
const PLAYS: Readonly<Record<string, Play>> = Object.fromEntries([
  ['late-usage', lateUsage],
  ['endless-body', endlessBody],
  ...ARGUMENTS.map(([pieces], i): [string, Play] => {
    const [first = '', ...rest] = pieces
    const begin = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: first } }
    const more = rest.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] }))
    return [`arguments-${i}`, streamed([{ role: 'assistant', tool_calls: [begin] }, ...more], 'tool_calls')]
  }),
  ...ROLES.map(([, deltas], i): [string, Play] => [
    `role-${i}`,
    streamed(deltas, deltas.some((delta) => 'tool_calls' in delta) ? 'tool_calls' : 'stop'),
  ]),
])

let stack: Stack
let provider: ScriptedProvider
let apiKey: string

before(async () => {
  provider = await ScriptedProvider.start(PLAYS)
  stack = await startStack({
    catalog: {
      providers: [{ id: 'scripted', base_url: provider.url }],
      models: Object.keys(PLAYS).map((model) => ({
        id: `test/${model}`,
        endpoints: ['chat', 'messages', 'responses'],
        routes: [{ provider: 'scripted', model }],
      })),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('arguments are the input of a call for clients of Messages', () => {
  for (const [i, [pieces, input]] of ARGUMENTS.entries()) {
    test(JSON.stringify(pieces), async () => {
      const client = new Anthropic({ baseURL: stack.baseUrl, apiKey, maxRetries: 0 })
      const body = {
        model: `test/arguments-${i}`,
        max_tokens: 50,
        messages: [{ role: 'user' as const, content: 'hi' }],
      }
      const { content } = await client.messages.stream(body).finalMessage()
      assert.deepEqual(
        content.map((block) => (block.type === 'tool_use' ? block.input : block)),
        [input],
      )
    })
  }
})

describe('the package of OpenAI learns who speaks', () => {
  for (const [i, [title, deltas]] of ROLES.entries()) {
    test(title, async () => {
      const client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
      const body = { model: `test/role-${i}`, messages: [{ role: 'user' as const, content: 'hi' }] }
      const seen: unknown[] = []
      for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
        for (const { delta } of choices) if (delta.role !== undefined) seen.push(delta.role)
      }
      assert.deepEqual([...new Set(seen)].filter(Boolean), ['assistant'])
      const { choices } = await client.chat.completions.stream(body).finalChatCompletion()
      const isCall = deltas.some((delta) => 'tool_calls' in delta)
      assert.deepEqual(
        [choices[0]?.message.role, choices[0]?.message.content ?? '', choices[0]?.message.tool_calls?.length ?? 0],
        ['assistant', isCall ? '' : 'AB', isCall ? 1 : 0],
      )
    })
  }
})

/** Requests in every format whose receipts have the reported usage. */
async function assertReported(model: string): Promise<void> {
  const said = { model, max_tokens: 50, stream: true }
  for (const [path, body] of [
    ['chat/completions', { ...said, messages: [{ role: 'user', content: 'hi' }] }],
    ['messages', { ...said, messages: [{ role: 'user', content: 'hi' }] }],
    ['responses', { ...said, max_tokens: undefined, max_output_tokens: 50, input: 'hi' }],
  ] as const) {
    const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body)
    await stack.settled()
    const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
    assert.deepEqual(
      [receipt.status, receipt.usage_source, receipt.usage.prompt_tokens, receipt.usage.completion_tokens],
      ['ok', 'reported', 10, 2],
      path,
    )
  }
}

test('a report of usage after the stated end is charged, for clients of every format', async () => {
  await assertReported('test/late-usage')
})

test('a body that goes on after the stated end of its stream is given up', async () => {
  await assertReported('test/endless-body')
  await until('no connection is left to it', () => openBodies === 0)
})
