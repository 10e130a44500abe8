// Goal: thinking of a history that a provider refuses, because another one has signed it or because it lacks, does not lock the
// conversation: the request is sent once more without it, and charged once. The provider refuses with the sentences of the
// format's own, as public reports show them (anthropics/anthropic-sdk-python 1598, kaitranntt/ccs 415).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { messages } from '../support/clients/messagesClient.ts'
import { post, type ResponseObject } from '../support/clients/responsesClient.ts'
import { itemOf } from '../support/present.ts'
import { type Asked, refusal, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { assistant, HELLO, result, text, use, user } from './blockRows.ts'

type Block = Readonly<Record<string, unknown>>

const JSON_AT_ONCE_BYTES = 20_000
const THINKS = { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 } as const
const foreign = { type: 'thinking', thinking: 'h', signature: 'of another' }
const hidden = { type: 'redacted_thinking', data: 'of another' }
const own = { type: 'thinking', thinking: 'h', signature: 'own' }
const asked = user(text('do'))
const TOOLS = [{ name: 'f', input_schema: { type: 'object' as const } }]

/** Histories that the provider refuses, and what it gets then; thinking goes on where the answer is not one to results. */
const ROWS: readonly {
  readonly title: string
  readonly sent: readonly object[]
  readonly shown: readonly object[]
  readonly thinks: boolean
}[] = [
  {
    title: 'thinking that another has signed, in a turn that is over',
    sent: [asked, assistant(foreign, text('a')), HELLO],
    shown: [asked, assistant(text('a')), HELLO],
    thinks: true,
  },
  {
    title: 'hidden thinking of another',
    sent: [asked, assistant(hidden, text('a')), HELLO],
    shown: [asked, assistant(text('a')), HELLO],
    thinks: true,
  },
  {
    title: 'thinking of both',
    sent: [asked, assistant(own, text('a')), HELLO, assistant(foreign, text('b')), HELLO],
    shown: [asked, assistant(text('a')), HELLO, assistant(text('b')), HELLO],
    thinks: true,
  },
  {
    title: 'thinking of another before a call',
    sent: [asked, assistant(foreign, use), result('x')],
    shown: [asked, assistant(use), result('x')],
    thinks: false,
  },
  {
    title: 'a call of a model that did not think',
    sent: [asked, assistant(use), result('x')],
    shown: [asked, assistant(use), result('x')],
    thinks: false,
  },
]

let stack: Stack
let provider: TurnProvider
let apiKey: string
let client: Anthropic
let isStubborn = false

const blocksOf = (message: Block): readonly Block[] => (Array.isArray(message['content']) ? message['content'] : [])

function answer({ body }: Asked): Turn {
  const said = body['messages'] as readonly Block[]
  const blocks = said.flatMap(blocksOf)
  const { type: thinking } = (body['thinking'] ?? {}) as Block
  if (isStubborn || blocks.some(({ type, signature }) => type === 'thinking' && signature !== 'own')) {
    return refusal('messages.1.content.0: Invalid `signature` in `thinking` block')
  }
  if (blocks.some(({ type }) => type === 'redacted_thinking'))
    return refusal('messages.1.content.0: Invalid `data` in `redacted_thinking` block')
  const answersResults = blocksOf(said.at(-1) ?? {}).some(({ type }) => type === 'tool_result')
  if (thinking === 'enabled' && answersResults && blocksOf(said.at(-2) ?? {})[0]?.['type'] !== 'thinking') {
    return refusal(
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
    )
  }
  return { text: 'ok', reasoning: 'hm' }
}

before(async () => {
  provider = await TurnProvider.start(answer)
  stack = await startStack({
    limits: { jsonAtOnceBytesMax: JSON_AT_ONCE_BYTES },
    catalog: {
      providers: [{ id: 'turns', dialect: 'anthropic', base_url: provider.url }],
      models: [
        { id: 'test/turns', thinking: 'budget', endpoints: ['messages'], routes: [{ provider: 'turns', model: 'm' }] },
        {
          id: 'test/responses',
          thinking: 'budget',
          endpoints: ['responses'],
          routes: [{ provider: 'turns', model: 'm' }],
        },
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

const bodyOf = (sent: readonly object[]) => ({
  model: 'test/turns',
  tools: TOOLS,
  messages: sent as Anthropic.MessageParam[],
  ...THINKS,
})

describe('thinking that a provider refuses is left out', () => {
  for (const { title, sent, shown, thinks } of ROWS) {
    test(title, async () => {
      for (const ways of [
        async () => (await client.messages.create(bodyOf(sent))).content,
        async () => (await client.messages.stream(bodyOf(sent)).finalMessage()).content,
      ]) {
        const before = provider.asked.length
        assert.deepEqual((await ways()).at(-1), text('ok'))
        const [first, second, ...more] = provider.asked.slice(before)
        assert.deepEqual([first?.body['messages'], more], [sent, []])
        assert.deepEqual(second?.body['messages'], shown)
        assert.equal(second?.body['thinking'] !== undefined, thinks)
      }
    })
  }

  test('of a large history', async () => {
    const turns = Array.from({ length: 400 }, (_, i) => [
      user(text(`question ${i} ${'x'.repeat(40)}`)),
      assistant(foreign, text(`${i}`)),
    ])
    const sent = [...turns.flat(), HELLO]
    assert.ok(JSON.stringify(sent).length > 2 * JSON_AT_ONCE_BYTES)
    assert.deepEqual((await client.messages.create(bodyOf(sent))).content.at(-1), text('ok'))
    const left = (provider.last.body['messages'] as Block[]).flatMap(blocksOf).filter(({ type }) => type === 'thinking')
    assert.deepEqual([left, (provider.last.body['messages'] as Block[]).length], [[], sent.length])
  })

  test('of a client of responses', async () => {
    const ask = async (input: readonly object[]): Promise<ResponseObject> => {
      const body = {
        model: 'test/responses',
        input,
        reasoning: { effort: 'low' },
        include: ['reasoning.encrypted_content'],
      }
      const reply = await post(stack.baseUrl, '/v1/responses', apiKey, body)
      assert.equal(reply.status, 200, reply.text)
      return JSON.parse(reply.text) as ResponseObject
    }
    // The provider signs otherwise than it takes.
    const { output } = await ask([HELLO])
    const before = provider.asked.length
    await ask([HELLO, ...output, HELLO])
    const [first, second, ...more] = provider.asked.slice(before).map(({ body }) => JSON.stringify(body['messages']))
    assert.deepEqual([first?.includes('"thinking"'), second?.includes('"thinking"'), more], [true, false, []])
  })
})

test('thinking of the provider itself is sent once, and stays', async () => {
  const sent = [asked, assistant(own, use), result('x')]
  const before = provider.asked.length
  await client.messages.create(bodyOf(sent))
  assert.deepEqual(
    provider.asked.slice(before).map(({ body }) => body['messages']),
    [sent],
  )
})

test('a provider that refuses again is asked twice, and the client is told its reason', async () => {
  isStubborn = true
  const before = provider.asked.length
  const reply = await messages(stack.baseUrl, apiKey, bodyOf([asked, assistant(foreign, text('a')), HELLO]))
  isStubborn = false
  const { error } = JSON.parse(reply.text) as { error: { code: string; message: string } }
  assert.deepEqual([reply.status, error.code, provider.asked.length - before], [400, 'upstream_rejected', 2])
  assert.match(error.message, /Invalid `signature` in `thinking` block/)
  assert.equal(itemOf(provider.asked, before + 1).path, '/v1/messages')
})
