// Goal: reasoning that its provider has not signed comes back from clients that keep only what is signed, and from those that keep
// only what is encrypted: the gateway signs it itself. Providers that want reasoning back get its words whatever the client has kept
// of it, and no provider ever gets a signature of the gateway. One row a way to keep it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { messagesStream } from '../support/clients/messagesClient.ts'
import { post, readResponseStream, responseOf } from '../support/clients/responsesClient.ts'
import { itemOf, present } from '../support/present.ts'
import { turnModels } from '../support/providers/turnCatalog.ts'
import { type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const WORDS = 'I look at Oslo. é 😀 "\n'
const OSLO = { name: 'weather', arguments: '{"city":"Oslo"}' }
const FIRST = { role: 'user' as const, content: 'Where does it rain?' }
const SCHEMA = { type: 'object' as const, properties: {} }
const RESULT = 'It rains.'
const INCLUDE: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']
/** Of a packed text, in characters. */
const PACKED_MAX = 2_000

type Sent = Readonly<Record<string, unknown>>
type Kept = readonly Sent[]

let stack: Stack
let provider: TurnProvider
let openai: OpenAI
let anthropic: Anthropic
let apiKey: string
let turn: Turn

before(async () => {
  provider = await TurnProvider.start(() => turn)
  const providers = [
    { id: 'wanting', extra_members: ['reasoning_content'] },
    { id: 'plain' },
    { id: 'blocks', dialect: 'anthropic' },
  ].map((own) => ({ ...own, base_url: provider.url }))
  stack = await startStack({
    limits: { packedCharactersMax: PACKED_MAX },
    catalog: {
      providers,
      models: turnModels(
        providers.map(({ id }) => id),
        { thinking: 'effort' },
      ),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
  openai = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: stack.baseUrl, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.settled()
  await stack.audit()
  await stack.finish()
  await provider.stop()
})

const packed = (object: unknown) => `slu1.${Buffer.from(JSON.stringify(object)).toString('base64url')}`
const unpacked = (text: unknown): unknown =>
  JSON.parse(Buffer.from(String(text).slice('slu1.'.length), 'base64url').toString('utf8'))

function assertUnsigned(): void {
  assert.doesNotMatch(JSON.stringify(provider.last.body), /slu1|I look at Oslo|thinking|reasoning/)
}

const reasoningSent = (): unknown[] =>
  (provider.last.body['messages'] as Sent[])
    .filter(({ role }) => role === 'assistant')
    .map(({ reasoning_content: words }) => words)

const thinkingSent = (): Kept =>
  (provider.last.body['messages'] as { content: Kept }[])
    .flatMap(({ content }) => content)
    .filter(({ type }) => type === 'thinking')

async function answerOf(model: string, isStream: boolean, history: readonly object[] = [FIRST]): Promise<Kept> {
  const body = {
    model,
    max_tokens: 100,
    messages: history as Anthropic.MessageParam[],
    tools: [{ name: 'weather', input_schema: SCHEMA }],
  }
  const { content } = isStream
    ? await anthropic.messages.stream(body).finalMessage()
    : await anthropic.messages.create(body)
  return content as unknown as Kept
}

function answered(content: Kept): object[] {
  const results = content
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: RESULT }))
  return [
    { role: 'assistant', content },
    { role: 'user', content: results },
  ]
}

async function outputOf(model: string, isStream: boolean, input: readonly object[] = [FIRST]): Promise<Kept> {
  const tools = [{ type: 'function' as const, name: 'weather', parameters: SCHEMA, strict: false }]
  const body = { model, input: input as OpenAI.Responses.ResponseInputItem[], tools, include: INCLUDE }
  const { output } = isStream
    ? await openai.responses.stream(body).finalResponse()
    : await openai.responses.create(body)
  return output as unknown as Kept
}

function goneOn(output: Kept): Kept {
  const results = output
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: RESULT }))
  return [...output, ...results]
}

const changed = (kept: Kept, type: string, change: (part: Sent) => Sent): Kept =>
  kept.map((part) => (part['type'] === type ? change(part) : part))

/** What clients of Messages send back of thinking. */
const BLOCKS: readonly (readonly [title: string, keep: (block: Sent) => Sent])[] = [
  ['as it is', (block) => block],
  ['with an empty signature', (block) => ({ ...block, signature: '' })],
  ['without a signature', ({ signature: _own, ...block }) => block],
  ['with a signature of a later gateway', (block) => ({ ...block, signature: packed({ type: 'more', of: 'x' }) })],
  ['with a signature that cannot be read', (block) => ({ ...block, signature: 'slu1.%' })],
  ['with a long signature of that kind', (block) => ({ ...block, signature: `slu1.${'a'.repeat(5_000)}` })],
]

describe('thinking of Messages', () => {
  for (const isStream of [true, false]) {
    const how = isStream ? 'streamed' : 'in one piece'
    for (const [title, keep] of BLOCKS) {
      test(`${how}, sent back ${title}`, async () => {
        turn = { reasoning: WORDS, text: 'I look.', calls: [OSLO] }
        const content = await answerOf('test/wanting', isStream)
        const [thinking] = content
        assert.deepEqual([thinking?.['thinking'], unpacked(thinking?.['signature'])], [WORDS, { type: 'reasoning' }])
        const history = [FIRST, ...answered(changed(content, 'thinking', keep))]
        turn = { text: 'In Oslo.' }
        await answerOf('test/wanting', isStream, history)
        assert.deepEqual(reasoningSent(), [WORDS])
        for (const next of ['test/plain', 'test/blocks']) {
          await answerOf(next, isStream, history)
          assertUnsigned()
        }
      })
    }

    test(`${how}, of a provider that does not want it back`, async () => {
      turn = { reasoning: WORDS, calls: [OSLO] }
      const [thinking] = await answerOf('test/plain', isStream)
      assert.deepEqual(unpacked(thinking?.['signature']), { type: 'reasoning' })
    })

    test(`${how}, from DeepSeek to Claude and back`, async () => {
      turn = { reasoning: WORDS, calls: [OSLO] }
      const begun = [FIRST, ...answered(await answerOf('test/wanting', isStream))]
      turn = { reasoning: 'And Bergen.', calls: [OSLO] }
      const gone = [...begun, ...answered(await answerOf('test/blocks', isStream, begun))]
      assertUnsigned()
      const signed = { type: 'thinking', thinking: 'And Bergen.', signature: `signed ${provider.asked.length}` }
      turn = { text: 'In both.' }
      await answerOf('test/blocks', isStream, gone)
      assert.deepEqual(thinkingSent(), [signed])
      await answerOf('test/wanting', isStream, gone)
      assert.deepEqual(reasoningSent(), [WORDS, 'And Bergen.'])
    })
  }

  test('the signature comes in one delta, the last one of its block', async () => {
    for (const said of [
      { reasoning: WORDS, text: 'I look.', calls: [OSLO] },
      { reasoning: WORDS, calls: [OSLO] },
      { reasoning: WORDS },
    ]) {
      turn = said
      const body = { model: 'test/wanting', max_tokens: 100, messages: [FIRST], stream: true }
      const { events } = await messagesStream(stack.baseUrl, apiKey, body)
      const types = events
        .filter(({ index }) => index === 0)
        .map((event) => (event['delta'] as Sent | undefined)?.['type'] ?? event.type)
      assert.deepEqual(types, ['content_block_start', 'thinking_delta', 'signature_delta', 'content_block_stop'])
    }
  })

  test('a text of the gateway in a block of hidden thinking reaches no provider', async () => {
    turn = { text: 'In Oslo.' }
    const use = { type: 'tool_use', id: 't1', name: 'weather', input: {} }
    for (const data of [packed({ type: 'reasoning', text: WORDS }), packed({ type: 'reasoning' }), 'slu1.%']) {
      for (const model of ['test/wanting', 'test/plain', 'test/blocks']) {
        await answerOf(model, false, [FIRST, ...answered([{ type: 'redacted_thinking', data }, use])])
        assert.doesNotMatch(JSON.stringify(provider.last.body), /slu1|redacted/)
      }
    }
  })
})

/** What clients of Responses send back of a reasoning item, and what the provider gets. */
const ITEMS: readonly (readonly [title: string, keep: (item: Sent) => Sent, words: string])[] = [
  ['as it is', (item) => item, WORDS],
  ['without its summary', (item) => ({ ...item, summary: [] }), WORDS],
  ['with null in place of its content', (item) => ({ ...item, summary: [], content: null }), WORDS],
  ['without what is encrypted', ({ encrypted_content: _packed, ...item }) => item, WORDS],
  ['with the reasoning of another', (item) => ({ ...item, encrypted_content: 'gAAAAABmZjQ0' }), WORDS],
  ['with a summary of its own', (item) => ({ ...item, summary: [{ type: 'summary_text', text: 'Oslo?' }] }), 'Oslo?'],
  ['with the signature alone', (item) => ({ ...item, encrypted_content: packed({ type: 'reasoning' }) }), WORDS],
  [
    'without any words',
    (item) => ({ ...item, summary: [], encrypted_content: packed({ type: 'reasoning', text: { a: 1 } }) }),
    ' ',
  ],
  ['in a text that cannot be read', (item) => ({ ...item, summary: [], encrypted_content: 'slu1.%' }), ' '],
]

describe('reasoning items of Responses', () => {
  for (const isStream of [true, false]) {
    const how = isStream ? 'streamed' : 'in one piece'
    for (const [title, keep, words] of ITEMS) {
      test(`${how}, sent back ${title}`, async () => {
        turn = { reasoning: WORDS, text: 'I look.', calls: [OSLO] }
        const output = await outputOf('test/wanting', isStream)
        const [item] = output
        assert.deepEqual(item?.['summary'], [{ type: 'summary_text', text: WORDS }])
        assert.deepEqual(unpacked(item?.['encrypted_content']), { type: 'reasoning', text: WORDS })
        const input = [FIRST, ...goneOn(changed(output, 'reasoning', keep))]
        turn = { text: 'In Oslo.' }
        await outputOf('test/wanting', isStream, input)
        assert.deepEqual(reasoningSent(), [words])
        for (const next of ['test/plain', 'test/blocks']) {
          await outputOf(next, isStream, input)
          assertUnsigned()
        }
      })
    }

    test(`${how}, from DeepSeek to Claude and back, by what is encrypted alone`, async () => {
      const hide = (kept: Kept): Kept => changed(kept, 'reasoning', (item) => ({ ...item, summary: [] }))
      turn = { reasoning: WORDS, calls: [OSLO] }
      const begun = [FIRST, ...goneOn(hide(await outputOf('test/wanting', isStream)))]
      turn = { reasoning: 'And Bergen.', calls: [OSLO] }
      const gone = [...begun, ...goneOn(hide(await outputOf('test/blocks', isStream, begun)))]
      assertUnsigned()
      const signed = { type: 'thinking', thinking: 'And Bergen.', signature: `signed ${provider.asked.length}` }
      turn = { text: 'In both.' }
      await outputOf('test/blocks', isStream, gone)
      assert.deepEqual(thinkingSent(), [signed])
      await outputOf('test/wanting', isStream, gone)
      assert.deepEqual(reasoningSent(), [WORDS, 'And Bergen.'])
    })

    test(`${how}, words beyond the bound come back by the summary`, async () => {
      const long = 'hm '.repeat(PACKED_MAX)
      turn = { reasoning: long, calls: [OSLO] }
      const output = await outputOf('test/wanting', isStream)
      assert.deepEqual(unpacked(output[0]?.['encrypted_content']), { type: 'reasoning' })
      await outputOf('test/wanting', isStream, [FIRST, ...goneOn(output)])
      assert.deepEqual(reasoningSent(), [long])
    })

    test(`${how}, of a request that does not ask for it`, async () => {
      turn = { reasoning: WORDS, calls: [OSLO] }
      const body = { model: 'test/wanting', input: [FIRST], stream: isStream }
      const reply = await post(stack.baseUrl, '/v1/responses', apiKey, body)
      if (!isStream) responseOf(reply)
      assert.doesNotMatch(reply.text, /encrypted_content/)
    })
  }

  test('the item has it when it is done, and the response at its end', async () => {
    for (const said of [
      { reasoning: WORDS, text: 'I look.' },
      { reasoning: WORDS, calls: [OSLO] },
      { reasoning: WORDS },
    ]) {
      turn = said
      const body = { model: 'test/wanting', input: [FIRST], stream: true, include: INCLUDE }
      const { events, response } = readResponseStream(await post(stack.baseUrl, '/v1/responses', apiKey, body))
      const done = present(events.find(({ type }) => type === 'response.output_item.done'))
      for (const item of [done['item'], itemOf(response.output, 0)] as Sent[])
        assert.deepEqual(unpacked(item['encrypted_content']), { type: 'reasoning', text: WORDS })
    }
  })

  test('a signature of the gateway in packed thinking is none of a provider', async () => {
    const own = packed({ type: 'thinking', thinking: WORDS, signature: packed({ type: 'reasoning' }) })
    const call = { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' }
    turn = { text: 'In Oslo.' }
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: own }
    await outputOf('test/blocks', false, [FIRST, ...goneOn([item, call])])
    assertUnsigned()
  })
})
