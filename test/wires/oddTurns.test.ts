// Goal: turns and tools of clients that a provider's format refuses reach it in a form that it takes. One row a case,
// as clients and public reports show them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { itemOf } from '../support/present.ts'
import { turnCatalog } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO } from './blockRows.ts'

type Value = Readonly<Record<string, unknown>>

const text = (said: string) => ({ type: 'text', text: said })
const said = (role: string, content: unknown, more: object = {}) => ({ role, content, ...more })
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const image = { type: 'image_url', image_url: { url: PNG } }
const used = { type: 'tool_use', id: 't1', name: 'f', input: {} }
const signed = { type: 'thinking', thinking: 'hm', signature: 'own' }
const tool = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
})
const call = (name: string, args: string) => ({ id: 'c1', type: 'function', function: { name, arguments: args } })
const ALLOWED = { mode: 'required', tools: [{ type: 'function', function: { name: 'b' } }] }

interface Row {
  readonly title: string
  readonly path: '/v1/chat/completions' | '/v1/messages' | '/v1/responses'
  readonly over: 'openai' | 'anthropic'
  readonly body: object
  /** Of the provider's request. */
  readonly member: string
  readonly sent: unknown
  readonly dropped?: string
}

const CHAT = { path: '/v1/chat/completions', member: 'messages' } as const
const RESPONSES = { path: '/v1/responses', member: 'messages' } as const
const MESSAGES = { path: '/v1/messages', member: 'messages' } as const
const user = (content: unknown) => said('user', content)
const ofHello = user([text('go on')])

const ROWS: readonly Row[] = [
  ...['', [text('')], null].map(
    (content, i): Row => ({
      ...CHAT,
      title: `an empty turn of the assistant, ${i}`,
      over: 'openai',
      body: { messages: [HELLO, said('assistant', content), HELLO] },
      sent: [HELLO, HELLO],
    }),
  ),
  ...['', [], null].map(
    (content, i): Row => ({
      ...RESPONSES,
      title: `an empty message of the assistant, ${i}`,
      over: 'openai',
      body: { instructions: '', input: [HELLO, said('assistant', content), HELLO] },
      sent: [HELLO, HELLO],
    }),
  ),
  {
    ...CHAT,
    title: 'a refusal is what the assistant has said',
    over: 'anthropic',
    body: { messages: [HELLO, said('assistant', null, { refusal: 'no' }), HELLO] },
    sent: [ofHello, said('assistant', [text('no')]), ofHello],
  },
  {
    ...CHAT,
    title: 'images that users did not send',
    over: 'anthropic',
    body: { messages: [HELLO, said('assistant', [image, text('a')]), HELLO] },
    sent: [ofHello, said('assistant', [text('[image left out]'), text('a')]), ofHello],
  },
  {
    ...RESPONSES,
    title: 'an image that the assistant has made',
    over: 'openai',
    body: { input: [HELLO, said('assistant', [{ type: 'input_image', image_url: PNG }]), HELLO] },
    sent: [HELLO, said('assistant', '[image left out]'), HELLO],
  },
  {
    ...CHAT,
    title: 'a call of a function, as they were before tools',
    over: 'openai',
    body: {
      messages: [
        HELLO,
        said('assistant', null, { function_call: { name: 'f', arguments: '{}' }, tool_calls: null }),
        said('function', 'x', { name: 'f' }),
        HELLO,
      ],
    },
    sent: [
      HELLO,
      said('assistant', null, { tool_calls: [{ ...call('f', '{}'), id: 'call_1_0' }] }),
      said('tool', 'x', { tool_call_id: 'call_1_0' }),
      HELLO,
    ],
  },
  {
    ...RESPONSES,
    title: 'an instruction of the input alone, beside those of the request',
    over: 'openai',
    body: { instructions: 'a', input: [said('developer', 'b')] },
    sent: [said('system', 'a\n\nb')],
  },
  {
    ...RESPONSES,
    title: 'a call that has its id alone',
    over: 'openai',
    body: {
      input: [
        HELLO,
        { type: 'function_call', id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'x' },
        HELLO,
      ],
    },
    sent: [
      HELLO,
      said('assistant', null, { tool_calls: [call('f', '{}')] }),
      said('tool', 'x', { tool_call_id: 'c1' }),
      HELLO,
    ],
  },
  ...(
    [
      ['alone', [signed], null],
      ['before a blank', [signed, text('\n\n')], null],
      ['after a text', [text('a'), signed], [text('a')]],
      [
        'before a tool of the provider',
        [signed, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }],
        null,
      ],
    ] as const
  ).map(
    ([title, content, left]): Row => ({
      ...MESSAGES,
      title: `a turn that ends with thinking: ${title}`,
      over: 'anthropic',
      body: { messages: [HELLO, said('assistant', content), HELLO] },
      sent: left === null ? [HELLO, HELLO] : [HELLO, said('assistant', left), HELLO],
    }),
  ),
  {
    ...MESSAGES,
    title: 'thinking before a call in a turn of its own',
    over: 'anthropic',
    body: {
      messages: [
        HELLO,
        said('assistant', [signed]),
        said('assistant', [used]),
        user([{ type: 'tool_result', tool_use_id: 't1', content: 'x' }]),
      ],
    },
    sent: [
      HELLO,
      said('assistant', [signed]),
      said('assistant', [used]),
      user([{ type: 'tool_result', tool_use_id: 't1', content: 'x' }]),
    ],
  },
  ...[{ type: 'object' }, {}].map(
    (schema, i): Row => ({
      path: '/v1/messages',
      title: `a tool without parameters, ${i}`,
      over: 'openai',
      body: { messages: [HELLO], tools: [{ name: 'f', input_schema: schema }] },
      member: 'tools',
      sent: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
    }),
  ),
  {
    path: '/v1/chat/completions',
    title: 'a choice among some of the tools',
    over: 'anthropic',
    body: {
      messages: [HELLO],
      tools: [tool('a'), tool('b')],
      tool_choice: { type: 'allowed_tools', allowed_tools: ALLOWED },
    },
    member: 'tools',
    sent: [{ name: 'b', input_schema: { type: 'object', properties: {} } }],
  },
  {
    ...CHAT,
    title: 'options that the format does not have',
    over: 'anthropic',
    body: { messages: [HELLO], seed: 1, logprobs: true, frequency_penalty: 1, temperature: 0.5, verbosity: 'low' },
    sent: [ofHello],
    dropped: 'seed, logprobs, frequency_penalty, verbosity',
  },
]

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start(({ body }) =>
    body['tool_choice'] === undefined || !Array.isArray(body['tools'])
      ? { text: 'ok' }
      : { calls: [{ name: String((body['tools'] as { name: string }[]).at(-1)?.name), arguments: '{}' }] },
  )
  stack = await startStack({ catalog: turnCatalog(provider.url) })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('turns and tools reach a provider in a form that it takes', () => {
  for (const { title, path, over, body, member, sent, dropped = null } of ROWS) {
    test(`${title}: ${path} over ${over}`, async () => {
      const send = path === '/v1/messages' ? messages : path === '/v1/responses' ? null : chat
      const asked = { model: `test/${over}`, ...body }
      const reply = await (send === null
        ? post(stack.baseUrl, path, apiKey, asked)
        : send(stack.baseUrl, apiKey, asked))
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(provider.last.body[member], sent)
      assert.equal(reply.headers.get('x-dropped-parameters'), dropped)
    })
  }

  test('tools whose names the format does not take have the same name in a history, a choice and a call', async () => {
    const name = 'mcp.files/read'
    const reply = await chat(stack.baseUrl, apiKey, {
      model: 'test/anthropic',
      messages: [
        HELLO,
        said('assistant', null, { tool_calls: [call(name, '{}')] }),
        said('tool', 'x', { tool_call_id: 'c1' }),
      ],
      tools: [tool(name)],
      tool_choice: { type: 'function', function: { name } },
    })
    const {
      tools,
      tool_choice: choice,
      messages: turns,
    } = provider.last.body as { tools: Value[]; tool_choice: Value; messages: Value[] }
    const sent = tools[0]?.['name']
    assert.match(String(sent), /^[A-Za-z0-9_-]{1,128}$/)
    const used = (itemOf(turns, 1)['content'] as Value[])[0]
    assert.deepEqual([choice['name'], used?.['name']], [sent, sent])
    const { choices } = JSON.parse(reply.text) as { choices: { message: { tool_calls: { function: Value }[] } }[] }
    assert.equal(choices[0]?.message.tool_calls[0]?.function['name'], name)
  })
})
