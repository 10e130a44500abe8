// Goal: instructions that clients of chats and of Responses give within a conversation stay at their place at providers of the
// Anthropic format, as those of Messages do, so that what precedes them stays in the cache, and thinking stays bound to it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { turnModels } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { assistant, result, text, use, user } from './blockRows.ts'

interface Said {
  readonly role: string
  readonly content: unknown
}

/** What is said: u of the user, a of the assistant, s of the system, d of the developer, c of a call and r of its result. */
type Token = `${'u' | 'a' | 's' | 'd'}:${string}` | 'c' | 'r'

const system = (...content: object[]) => ({ role: 'system', content })
const done = assistant(text('done'))
const RESULT = result([text('x')])
const withResult = (...more: object[]) => ({ role: 'user', content: [...RESULT.content, ...more] })

/** A conversation, its `system`, and the messages that a provider gets which takes instructions between turns, and one that does not. */
const ROWS: readonly {
  readonly title: string
  readonly said: readonly Token[]
  readonly system?: readonly object[]
  readonly many: readonly object[]
  readonly first: readonly object[]
}[] = [
  {
    title: 'after an answer, before the user',
    said: ['d:A', 'u:hi', 'a:done', 'd:B', 'u:go'],
    system: [text('A')],
    many: [user(text('hi')), done, user(text('B'), text('go'))],
    first: [user(text('hi')), done, user(text('B'), text('go'))],
  },
  {
    title: 'after the user, before an answer',
    said: ['s:A', 'u:hi', 's:B', 'a:done', 'u:go'],
    system: [text('A')],
    many: [user(text('hi')), system(text('B')), done, user(text('go'))],
    first: [user(text('hi'), text('B')), done, user(text('go'))],
  },
  {
    title: 'at the end',
    said: ['u:hi', 'a:done', 'u:go', 'd:A', 's:B'],
    many: [user(text('hi')), done, user(text('go')), system(text('A'), text('B'))],
    first: [user(text('hi')), done, user(text('go'), text('A'), text('B'))],
  },
  {
    title: 'between two messages of the user',
    said: ['u:hi', 's:A', 'u:go'],
    many: [user(text('hi'), text('A'), text('go'))],
    first: [user(text('hi'), text('A'), text('go'))],
  },
  {
    title: 'between a call and its result',
    said: ['s:A', 'u:hi', 'c', 's:B', 'r'],
    system: [text('A')],
    many: [user(text('hi')), assistant(use), RESULT, system(text('B'))],
    first: [user(text('hi')), assistant(use), withResult(text('B'))],
  },
  {
    title: 'between a result and the user',
    said: ['u:hi', 'c', 'r', 's:A', 'u:go'],
    many: [user(text('hi')), assistant(use), withResult(text('A'), text('go'))],
    first: [user(text('hi')), assistant(use), withResult(text('A'), text('go'))],
  },
  {
    title: 'before an answer that nobody has asked for',
    said: ['s:A', 'a:done', 's:B', 'u:go'],
    system: [text('A')],
    many: [user(text('...')), done, user(text('B'), text('go'))],
    first: [user(text('...')), done, user(text('B'), text('go'))],
  },
  {
    title: 'of nothing',
    said: ['u:hi', 's: ', 'a:done', 's: ', 'u:go'],
    many: [user(text('hi')), done, user(text('go'))],
    first: [user(text('hi')), done, user(text('go'))],
  },
]

const SIDES: Readonly<Record<string, string>> = { u: 'user', a: 'assistant', s: 'system', d: 'developer' }

function messageOf(token: Token): object {
  if (token === 'r') return { role: 'tool', tool_call_id: 't1', content: 'x' }
  if (token !== 'c') return { role: SIDES[token.slice(0, 1)], content: token.slice(2) }
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
  }
}

function itemOf(token: Token): object {
  if (token === 'r') return { type: 'function_call_output', call_id: 't1', output: 'x' }
  if (token === 'c') return { type: 'function_call', call_id: 't1', name: 'f', arguments: '{"a":1}' }
  return messageOf(token)
}

const MODELS = ['many', 'first'] as const
let stack: Stack
let provider: TurnProvider
let apiKey: string
/** In which the provider refuses instructions between turns; null for one that takes them. */
let sentence: string | null = null

const saidTo = () => provider.last.body as { readonly system?: unknown; readonly messages: readonly Said[] }

before(async () => {
  provider = await TurnProvider.start(({ body, path }) => {
    const said = body['messages'] as Said[]
    const roles = said.map(({ role }) => role)
    if (sentence !== null && roles.includes('system')) return refusal(sentence, path)
    const isMisplaced = roles.some(
      (role, i) => role === 'system' && (roles[i - 1] !== 'user' || roles[i + 1] === 'user'),
    )
    return isMisplaced ? refusal('messages: a system message is out of place', path) : { text: 'ok' }
  })
  const own = { dialect: 'anthropic', base_url: provider.url }
  // Every request has to be refused: what an earlier one has found out is forgotten.
  stack = await startStack({
    limits: { refusedPartKeptMs: 1 },
    catalog: {
      providers: [
        { id: 'many', ...own },
        { id: 'first', ...own, system_messages: 'first' },
      ],
      models: turnModels(MODELS),
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const CLIENTS = {
  chat: (model: string, said: readonly Token[]) =>
    chat(stack.baseUrl, apiKey, { model, messages: said.map(messageOf) }),
  Responses: (model: string, said: readonly Token[]) =>
    post(stack.baseUrl, '/v1/responses', apiKey, { model, input: said.map(itemOf) }),
} as const

for (const [client, ask] of Object.entries(CLIENTS)) {
  for (const model of MODELS) {
    describe(`instructions of a client of ${client} for the provider ${model}`, () => {
      for (const row of ROWS) {
        test(row.title, async () => {
          const reply = await ask(`test/${model}`, row.said)
          assert.equal(reply.status, 200, reply.text)
          assert.deepEqual(saidTo().messages, row[model])
          assert.deepEqual(saidTo().system, row.system)
        })
      }
    })
  }
}

test('marks of the cache stay with later instructions', async () => {
  const marked = { ...text('A'), cache_control: { type: 'ephemeral' } }
  const sent = [messageOf('u:hi'), { role: 'developer', content: [marked] }]
  assert.equal((await chat(stack.baseUrl, apiKey, { model: 'test/many', messages: sent })).status, 200)
  assert.deepEqual(saidTo().messages, [user(text('hi')), system(marked)])
})

// Claude before Opus 4.8, older answers of Anthropic, DeepSeek's and Qwen's hosts, and hosts that are written in Python
// (anthropics/claude-code 61412, ChainForge 271, QwenLM/Qwen 2244, ogx 5982).
const SENTENCES = [
  "role 'system' is not supported on this model",
  'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
  'messages[1].role: unknown variant `system`, expected `user` or `assistant`',
  "messages.1.role: Input should be 'user' or 'assistant'",
  'invalid params, chat content has invalid message role: system (2013)',
  'messages[1].role must be one of user, assistant',
]

describe('a model that takes no later instructions is asked once more, and the user says them', () => {
  const said: readonly Token[] = ['s:A', 'u:hi', 's:B', 'a:done', 'u:go', 's:C']
  const asks = {
    ...CLIENTS,
    Messages: (model: string, tokens: readonly Token[]) =>
      messages(stack.baseUrl, apiKey, { model, messages: tokens.map(messageOf) }),
  }
  for (const [client, ask] of Object.entries(asks)) {
    for (const words of SENTENCES) {
      test(`${client}: ${words}`, async () => {
        sentence = words
        const asked = provider.asked.length
        const reply = await ask('test/many', said)
        sentence = null
        assert.equal(reply.status, 200, reply.text)
        assert.equal(provider.asked.length - asked, 2)
        const { system: leading, messages: got } = saidTo()
        assert.deepEqual(leading, [text('A')])
        assert.ok(got.every(({ role }) => role === 'user' || role === 'assistant'))
        assert.match(JSON.stringify(got), /hi.*B.*done.*go.*C/)
      })
    }
  }
})
