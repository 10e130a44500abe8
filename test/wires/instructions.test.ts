// Goal: instructions within a conversation of Messages end at no provider: those with text are where a provider takes them,
// and those about effort alone, which clients add between turns, set the effort of the request. The provider refuses as the
// format's own does: platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { messages } from '../support/clients/messagesClient.ts'
import { type Asked, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { assistant, HELLO, result, text, use, user } from './blockRows.ts'

interface Said {
  readonly role: string
  readonly content: unknown
}

const MISPLACED = { error: { type: 'invalid_request_error', message: 'messages: a system message is out of place' } }
const system = (content: unknown) => ({ role: 'system', content })
const effort = (word: string, content: unknown = []) => ({ ...system(content), output_config: { effort: word } })
const chatUse = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
}
const done = { role: 'assistant', content: 'done' }
const hi = { role: 'user', content: 'hi' }
const asUser = { ...HELLO, content: 'A' }

/** Messages, and what a provider that takes instructions between turns gets, one that does not, and one of chat. */
const ROWS: readonly {
  readonly title: string
  readonly sent: readonly object[]
  readonly many: readonly object[]
  readonly first: readonly object[]
  readonly chat: readonly object[]
  /** As the providers of the format get it. */
  readonly system?: readonly object[]
}[] = [
  {
    title: 'after a turn of the user, before one of the assistant',
    sent: [hi, system('A'), done, HELLO],
    many: [hi, system('A'), done, HELLO],
    first: [hi, asUser, done, HELLO],
    chat: [hi, system('A'), done, HELLO],
  },
  {
    title: 'at the end',
    sent: [HELLO, system([text('A')])],
    many: [HELLO, system([text('A')])],
    first: [HELLO, user(text('A'))],
    chat: [HELLO, system('A')],
  },
  {
    title: 'after a turn of the assistant',
    sent: [hi, done, system('A'), HELLO],
    many: [hi, done, asUser, HELLO],
    first: [hi, done, asUser, HELLO],
    chat: [hi, done, system('A'), HELLO],
  },
  {
    title: 'between two messages of the user',
    sent: [hi, system('A'), HELLO],
    many: [hi, asUser, HELLO],
    first: [hi, asUser, HELLO],
    chat: [hi, system('A'), HELLO],
  },
  {
    title: 'two of them',
    sent: [HELLO, system('A'), system([text('B')])],
    many: [HELLO, system([text('A'), text('B')])],
    first: [HELLO, user(text('A'), text('B'))],
    chat: [HELLO, system('A'), system('B')],
  },
  {
    title: 'before the first turn',
    sent: [system('A'), HELLO],
    many: [HELLO],
    first: [HELLO],
    chat: [system('A'), HELLO],
    system: [text('A')],
  },
  {
    title: 'alone',
    sent: [system('A')],
    many: [asUser],
    first: [asUser],
    chat: [system('A')],
  },
  {
    title: 'between a call and its result',
    sent: [hi, assistant(use), system('A'), result('x')],
    many: [hi, assistant(use), result('x'), system('A')],
    first: [hi, assistant(use), result('x'), asUser],
    chat: [hi, chatUse, { role: 'tool', tool_call_id: 't1', content: 'x' }, system('A')],
  },
  {
    title: 'after a call without a result',
    sent: [hi, assistant(use), system('A')],
    many: [hi, assistant(use), result('There is no result.'), system('A')],
    first: [hi, assistant(use), result('There is no result.'), asUser],
    chat: [hi, chatUse, { role: 'tool', tool_call_id: 't1', content: 'There is no result.' }, system('A')],
  },
  {
    title: 'of nothing',
    sent: [hi, system([]), done, system(' '), HELLO],
    many: [hi, done, HELLO],
    first: [hi, done, HELLO],
    chat: [hi, done, system(' '), HELLO],
  },
]

const TITLES = { many: 'a provider that takes them', first: 'one that does not', chat: 'one of chat' } as const
type To = keyof typeof TITLES
const TO = Object.keys(TITLES) as To[]

let stack: Stack
let provider: TurnProvider
let apiKey: string
let client: Anthropic

/** Refuses instructions where the format does. */
function answer({ path, body }: Asked): Turn {
  const said = body['messages'] as Said[]
  const isMisplaced = said.some(
    ({ role }, i) => role === 'system' && (said[i - 1]?.role !== 'user' || said[i + 1]?.role === 'user'),
  )
  const isRefused = path.endsWith('/messages') && isMisplaced
  return isRefused ? { refusal: { status: 400, body: MISPLACED } } : { text: 'ok' }
}

before(async () => {
  provider = await TurnProvider.start(answer)
  const messagesOf = { dialect: 'anthropic', base_url: provider.url } as const
  stack = await startStack({
    catalog: {
      providers: [
        { id: 'many', ...messagesOf },
        { id: 'first', ...messagesOf, system_messages: 'first' },
        { id: 'chat', dialect: 'openai', base_url: provider.url },
      ],
      models: [
        ...TO.map((id) => ({ id: `test/${id}`, routes: [{ provider: id, model: 'm' }] })),
        ...(['many', 'chat'] as const).map((id) => ({
          id: `test/thinks-${id}`,
          thinking: 'effort',
          routes: [{ provider: id, model: 'm' }],
        })),
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
  client = new Anthropic({ baseURL: stack.baseUrl, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

async function ask(model: string, sent: readonly object[], more: object = {}): Promise<Record<string, unknown>> {
  const body = { model: `test/${model}`, max_tokens: 100, messages: sent as Anthropic.MessageParam[], ...more }
  assert.deepEqual((await client.messages.create(body)).content, [text('ok')])
  return provider.last.body
}

for (const to of TO) {
  describe(`instructions for ${TITLES[to]}`, () => {
    for (const row of ROWS) {
      test(row.title, async () => {
        const got = await ask(to, row.sent)
        assert.deepEqual(got['messages'], row[to])
        assert.deepEqual(got['system'], to === 'chat' ? undefined : row.system)
      })
    }
  })
}

test('those before the first turn follow those of the request', async () => {
  const got = await ask('many', [system([text('B')]), HELLO], { system: 'A' })
  assert.deepEqual(got['system'], [text('A'), text('B')])
})

describe('instructions about effort', () => {
  const conversations: readonly (readonly [title: string, sent: readonly object[], shown: readonly object[]])[] = [
    ['at the end', [HELLO, effort('low')], [HELLO]],
    ['first, and changed later', [effort('high'), hi, done, effort('low'), HELLO], [hi, done, HELLO]],
    ['with an empty text', [hi, done, effort('low', ''), HELLO], [hi, done, HELLO]],
    ['without content', [hi, done, effort('low', null), HELLO], [hi, done, HELLO]],
    [
      'between a call and its result',
      [hi, assistant(use), effort('low'), result('x')],
      [hi, assistant(use), result('x')],
    ],
  ]
  for (const [title, sent, shown] of conversations) {
    for (const given of [{}, { output_config: { effort: 'high' } }]) {
      test(`${title}, ${'output_config' in given ? 'beside another of the request' : 'alone'}`, async () => {
        const got = await ask('thinks-many', sent, given)
        assert.deepEqual([got['output_config'], got['messages']], [{ effort: 'low' }, shown])
        assert.equal((await ask('thinks-chat', sent, given))['reasoning_effort'], 'low')
        assert.equal((await ask('many', sent, given))['output_config'], undefined)
      })
    }
  }

  test('with a text, which is kept', async () => {
    const got = await ask('thinks-many', [HELLO, effort('low', [text('A')])])
    assert.deepEqual([got['output_config'], got['messages']], [{ effort: 'low' }, [HELLO, system([text('A')])]])
  })

  test('that is no word is refused by its place', async () => {
    const sent = [HELLO, { ...system([]), output_config: { effort: 3 } }]
    const reply = await messages(stack.baseUrl, apiKey, { model: 'test/many', messages: sent })
    const { error } = JSON.parse(reply.text) as { error: { param: string } }
    assert.deepEqual([reply.status, error.param], [400, 'messages[1].output_config.effort'])
  })
})

describe('messages of nothing', () => {
  for (const content of ['', [], null, undefined]) {
    const shown = content === undefined ? 'absent content' : JSON.stringify(content)
    test(`${shown} in a turn that is over is left out`, async () => {
      const sent = [hi, { role: 'assistant', content }, { role: 'user', content }, done, HELLO]
      for (const to of TO) assert.deepEqual((await ask(to, sent))['messages'], [hi, done, HELLO])
    })

    test(`${shown} as the newest of the user is refused`, async () => {
      const reply = await messages(stack.baseUrl, apiKey, {
        model: 'test/many',
        messages: [hi, done, { role: 'user', content }],
      })
      const { error } = JSON.parse(reply.text) as { error: { param: string } }
      assert.deepEqual([reply.status, error.param], [400, 'messages[2].content'])
    })
  }
})
