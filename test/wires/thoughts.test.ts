// Goal: thinking of a provider comes back to it through a client of responses, in the place where it was, and whatever else
// stands in a reasoning item does no harm. One row a turn, and one a text that cannot be read.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ResponseItem, ResponseObject } from '../support/clients/responsesClient.ts'
import { post, readResponseStream, responseOf } from '../support/clients/responsesClient.ts'
import { itemOf, present } from '../support/present.ts'
import { type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const INCLUDE = ['reasoning.encrypted_content']
const HELLO = { role: 'user', content: 'hello' }
const CALL = { name: 'f', arguments: '{"a":1}' }
const TOOLS = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }]
const thinking = (n: number, text = 'hm') => ({ type: 'thinking', thinking: text, signature: `signed ${n}` })
const use = (n: number, i = 0) => ({ type: 'tool_use', id: `toolu_${n}_${i}`, name: 'f', input: { a: 1 } })
const redacted = { type: 'redacted_thinking', data: 'secret' }
const text = (said: string) => ({ type: 'text', text: said })

/** Turns of a model, and the blocks of the assistant that the provider gets back; `n` numbers the provider's answer. */
const TURNS: readonly (readonly [title: string, turn: Turn, back: (n: number) => readonly object[]])[] = [
  ['thinking and a call', { reasoning: 'hm', calls: [CALL] }, (n) => [thinking(n), use(n)]],
  [
    'thinking, a text and a call',
    { reasoning: 'hm', text: 'so', calls: [CALL] },
    (n) => [thinking(n), text('so'), use(n)],
  ],
  ['thinking and two calls', { reasoning: 'hm', calls: [CALL, CALL] }, (n) => [thinking(n), use(n), use(n, 1)]],
  ['thinking and a text', { reasoning: 'hm', text: 'so' }, (n) => [thinking(n), text('so')]],
  ['thinking that is not shown', { redacted: 'secret', calls: [CALL] }, (n) => [redacted, use(n)]],
  ['both', { redacted: 'secret', reasoning: 'hm', calls: [CALL] }, (n) => [redacted, thinking(n), use(n)]],
  ['thinking in any script', { reasoning: 'é 😀 "\n', text: 'so' }, (n) => [thinking(n, 'é 😀 "\n'), text('so')]],
  ['no thinking', { text: 'so', calls: [CALL] }, (n) => [text('so'), use(n)]],
]

const packed = (block: unknown) => `slu1.${Buffer.from(JSON.stringify(block)).toString('base64url')}`

/** What a reasoning item may hold that no provider can be shown. */
const UNREADABLE: readonly (readonly [title: string, content: unknown])[] = [
  ['absent', undefined],
  ['null', null],
  ['a number', 7],
  ['an empty text', ''],
  ['that of another gateway', 'gAAAAABmZjQ0'],
  ['no base64', 'slu1.%%%'],
  ['no JSON', `slu1.${Buffer.from('{').toString('base64url')}`],
  ['no block', packed(7)],
  ['an array', packed([thinking(1)])],
  ['another block', packed({ type: 'tool_result', tool_use_id: 't', content: 'x' })],
  ['no signature', packed({ type: 'thinking', thinking: 'hm', signature: '' })],
  ['a signature that is no text', packed({ type: 'thinking', thinking: 'hm', signature: { a: 1 } })],
  ['no data', packed({ type: 'redacted_thinking' })],
  ['too long a text', packed(thinking(1, 'x'.repeat(900_000)))],
]

let stack: Stack
let provider: TurnProvider
let apiKey: string
let turn: Turn = { text: 'ok' }

before(async () => {
  provider = await TurnProvider.start(() => turn)
  const model = (id: string, more: object = {}, dialect = 'anthropic') => ({
    id: `test/${id}`,
    endpoints: ['responses'],
    routes: [{ provider: dialect, model: 'm' }],
    ...more,
  })
  stack = await startStack({
    catalog: {
      providers: ['openai', 'anthropic'].map((dialect) => ({ id: dialect, dialect, base_url: provider.url })),
      models: [
        model('effort', { thinking: 'effort' }),
        model('budget', { thinking: 'budget' }),
        model('none'),
        model('openai', { thinking: 'effort' }, 'openai'),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

async function ask(said: Turn, body: object, isStream = false): Promise<ResponseObject> {
  turn = said
  const whole = { model: 'test/effort', input: [HELLO], include: INCLUDE, tools: TOOLS, stream: isStream, ...body }
  const reply = await post(stack.baseUrl, '/v1/responses', apiKey, whole)
  return isStream ? readResponseStream(reply).response : responseOf(reply)
}

/** A conversation in which the calls of the output are answered, and the user goes on. */
function goneOn(output: readonly ResponseItem[]): object[] {
  const calls = output.filter(({ type }) => type === 'function_call')
  const results = calls.map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: 'x' }))
  return [HELLO, ...output, ...results, ...(calls.length === 0 ? [HELLO] : [])]
}

const sentBack = (): unknown =>
  itemOf(provider.last.body['messages'] as { role: string; content: unknown }[], 1).content

describe('thinking comes back to its provider', () => {
  for (const [title, said, back] of TURNS) {
    for (const isStream of [true, false]) {
      test(`${title}, ${isStream ? 'streamed' : 'in one piece'}`, async () => {
        const { output } = await ask(said, {}, isStream)
        const n = provider.asked.length
        const shown = output.filter(({ type }) => type === 'reasoning').flatMap(({ summary = [] }) => summary)
        assert.equal(shown.map((part) => part.text).join(''), said.reasoning ?? '')
        await ask({ text: 'ok' }, { input: goneOn(output) })
        assert.deepEqual(sentBack(), back(n))
      })
    }
  }

  test('a client that does not ask for it gets the summary alone', async () => {
    for (const isStream of [true, false]) {
      const { output } = await ask({ redacted: 'secret', reasoning: 'hm', text: 'so' }, { include: [] }, isStream)
      assert.deepEqual(
        output.map(({ type }) => type),
        ['reasoning', 'message'],
      )
      assert.ok(!('encrypted_content' in itemOf(output, 0)))
    }
  })

  test('a long conversation, which another thread reads', async () => {
    const { output } = await ask({ reasoning: 'hm', calls: [CALL] }, {})
    const n = provider.asked.length
    const [first, ...rest] = goneOn(output)
    await ask({ text: 'ok' }, { input: [{ ...first, content: 'long '.repeat(200_000) }, ...rest] })
    assert.deepEqual(sentBack(), [thinking(n), use(n)])
  })

  test('two rounds of calls', async () => {
    const first = await ask({ reasoning: 'hm', calls: [CALL] }, {})
    const n = provider.asked.length
    const begun = goneOn(first.output)
    const second = await ask({ reasoning: 'oh', calls: [CALL] }, { input: begun })
    await ask({ text: 'ok' }, { input: [...begun, ...goneOn(second.output).slice(1)] })
    const turns = (provider.last.body['messages'] as { role: string; content: unknown }[]).filter(
      ({ role }) => role === 'assistant',
    )
    assert.deepEqual(
      turns.map(({ content }) => content),
      [
        [thinking(n), use(n)],
        [thinking(n + 1, 'oh'), use(n + 1)],
      ],
    )
  })

  test('a model with a budget goes on thinking after a result, if its thinking comes back', async () => {
    const body = { model: 'test/budget', reasoning: { effort: 'high' }, max_output_tokens: 4_096 }
    const { output } = await ask({ reasoning: 'hm', calls: [CALL] }, body)
    await ask({ text: 'ok' }, { ...body, input: goneOn(output) })
    assert.equal(Reflect.get(present(provider.last.body['thinking']) as object, 'type'), 'enabled')
    await ask({ text: 'ok' }, { ...body, input: goneOn(output.filter(({ type }) => type !== 'reasoning')) })
    assert.ok(!('thinking' in provider.last.body))
  })

  for (const model of ['test/none', 'test/openai']) {
    test(`${model} is sent none`, async () => {
      const { output } = await ask({ reasoning: 'hm', calls: [CALL] }, {})
      await ask({ text: 'ok' }, { model, input: goneOn(output) })
      assert.ok(!JSON.stringify(provider.last.body).includes('signed'))
    })
  }

  test('a provider that signs nothing has its reasoning shown, and packed without a signature', async () => {
    for (const isStream of [true, false]) {
      const { output } = await ask({ reasoning: 'hm', text: 'so' }, { model: 'test/openai' }, isStream)
      assert.deepEqual(itemOf(output, 0).summary, [{ type: 'summary_text', text: 'hm' }])
      assert.equal(Reflect.get(itemOf(output, 0), 'encrypted_content'), packed({ type: 'reasoning', text: 'hm' }))
    }
  })
})

describe('what cannot be read is left out', () => {
  for (const [title, content] of UNREADABLE) {
    test(title, async () => {
      const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: content }
      const said = { role: 'assistant', content: [{ type: 'output_text', text: 'so' }] }
      await ask({ text: 'ok' }, { input: [HELLO, item, said, HELLO] })
      assert.deepEqual(sentBack(), [text('so')])
    })
  }

  test('thinking that led to nothing', async () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: packed(thinking(1)) }
    await ask({ text: 'ok' }, { input: [HELLO, item, HELLO, { role: 'assistant', content: 'so' }, HELLO, item] })
    assert.ok(!JSON.stringify(provider.last.body).includes('signed'))
  })
})
