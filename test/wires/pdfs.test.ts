// Goal: PDFs of the clients of every format reach the providers of every dialect whose models take them, a hold covers what a
// provider bills for them, and a model without PDFs refuses a new one and is shown a note in place of an old one.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Receipt } from '../support/clients/chatClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const SHORT = 'JVBERi0='
/** Long enough to be forwarded as its own bytes. */
const LONG = Buffer.from(`%PDF-1.7 ${'long '.repeat(2_000)}`).toString('base64')
/** Long enough for another thread. */
const HUGE = Buffer.from(`%PDF-1.7 ${'huge '.repeat(200_000)}`).toString('base64')
const CONTEXT = 100_000
const DIALECTS = ['anthropic', 'openai'] as const
type Dialect = (typeof DIALECTS)[number]

const url = (data: string, type = 'application/pdf') => `data:${type};base64,${data}`
const documentOf = (data: string, more: object = {}) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data },
  ...more,
})
const text = (said: string) => ({ type: 'text', text: said })
const filePart = (data: string, filename: string) => ({ type: 'file', file: { filename, file_data: url(data) } })

interface Format {
  readonly path: string
  /** A request whose newest message has the PDF. */
  readonly ask: (data: string) => object
  /** One whose history has it. */
  readonly history: (data: string) => object
  /** The part that a provider of each dialect gets. */
  readonly sent: Readonly<Record<Dialect, (data: string) => object>>
  readonly note: string
  /** The field of the newest PDF. */
  readonly param: string
}

const FORMATS: readonly Format[] = [
  {
    path: '/v1/messages',
    ask: (data) => ({
      max_tokens: 50,
      messages: [
        { role: 'user', content: [documentOf(data, { title: 'T', citations: { enabled: true } }), text('?')] },
      ],
    }),
    history: (data) => ({
      max_tokens: 50,
      messages: [
        { role: 'user', content: [documentOf(data), text('?')] },
        { role: 'assistant', content: 'so' },
        { role: 'user', content: 'and?' },
      ],
    }),
    sent: {
      anthropic: (data) => documentOf(data, { title: 'T', citations: { enabled: true } }),
      openai: (data) => filePart(data, 'T'),
    },
    note: '[document left out]',
    param: 'messages[0].content[0].source.type',
  },
  {
    path: '/v1/responses',
    ask: (data) => ({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', filename: 'a.pdf', file_data: url(data) },
            { type: 'input_text', text: '?' },
          ],
        },
      ],
    }),
    history: (data) => ({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', file_data: url(data) },
            { type: 'input_text', text: '?' },
          ],
        },
        { role: 'assistant', content: 'so' },
        { role: 'user', content: 'and?' },
      ],
    }),
    sent: { anthropic: (data) => documentOf(data, { title: 'a.pdf' }), openai: (data) => filePart(data, 'a.pdf') },
    note: '[input_file left out]',
    param: 'input[0].content[0].type',
  },
  {
    path: '/v1/chat/completions',
    ask: (data) => ({ max_tokens: 50, messages: [{ role: 'user', content: [filePart(data, 'a.pdf'), text('?')] }] }),
    history: (data) => ({
      max_tokens: 50,
      messages: [
        { role: 'user', content: [filePart(data, 'a.pdf'), text('?')] },
        { role: 'assistant', content: 'so' },
        { role: 'user', content: 'and?' },
      ],
    }),
    sent: { anthropic: (data) => documentOf(data, { title: 'a.pdf' }), openai: (data) => filePart(data, 'a.pdf') },
    note: '[input_file left out]',
    param: 'messages[0].content[0].type',
  },
]

let stack: Stack
let provider: TurnProvider
let apiKey: string
let turn: Turn = { text: 'ok' }

before(async () => {
  provider = await TurnProvider.start(() => turn)
  stack = await startStack({
    catalog: {
      providers: DIALECTS.map((dialect) => ({ id: dialect, dialect, base_url: provider.url })),
      models: DIALECTS.flatMap((dialect) =>
        [true, false].map((takes) => ({
          id: `test/${dialect}-${takes ? 'pdf' : 'bare'}`,
          context: CONTEXT,
          endpoints: ['chat', 'messages', 'responses'],
          routes: [{ provider: dialect, model: 'm' }],
          ...(takes && { pdf_page_tokens: 4_600 }),
        })),
      ),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

interface Sent {
  readonly content: readonly object[]
}

async function asked(path: string, model: string, body: object): Promise<Sent> {
  const reply = await post(stack.baseUrl, path, apiKey, { model, ...body })
  assert.equal(reply.status, 200, reply.text)
  return (provider.last.body['messages'] as Sent[])[0] ?? assert.fail()
}

for (const { path, ask, history, sent, note, param } of FORMATS) {
  describe(`PDFs: ${path}`, () => {
    for (const dialect of DIALECTS) {
      for (const [name, data] of Object.entries({ SHORT, LONG, HUGE })) {
        test(`a ${name.toLowerCase()} one reaches a provider of the dialect ${dialect}`, async () => {
          const { content } = await asked(path, `test/${dialect}-pdf`, ask(data))
          assert.deepEqual(content, [sent[dialect](data), text('?')])
        })
      }

      test(`what a provider of the dialect ${dialect} bills for it is charged`, async () => {
        turn = { text: 'ok', promptTokens: CONTEXT - 1_000 }
        const reply = await post(stack.baseUrl, path, apiKey, { model: `test/${dialect}-pdf`, ...ask(SHORT) })
        turn = { text: 'ok' }
        const { receipt } = JSON.parse(reply.text) as { receipt: Receipt }
        assert.equal(receipt.usage.prompt_tokens, CONTEXT - 1_000)
        assert.deepEqual([receipt.clamped, receipt.cost.units], [false, String((CONTEXT - 1_000) * 1_000 + 20 * 2_000)])
      })

      test(`a model without PDFs refuses a new one: ${dialect}`, async () => {
        for (const data of [SHORT, LONG, HUGE]) {
          const reply = await post(stack.baseUrl, path, apiKey, { model: `test/${dialect}-bare`, ...ask(data) })
          assert.equal(reply.status, 400)
          const { error } = JSON.parse(reply.text) as { error: { param: string; message: string } }
          assert.equal(error.param, param)
          assert.match(error.message, /is a PDF, which test\/\w+-bare does not take/)
        }
      })

      test(`a model without PDFs gets a note for an old one: ${dialect}`, async () => {
        for (const data of [SHORT, LONG, HUGE]) {
          const { content } = await asked(path, `test/${dialect}-bare`, history(data))
          assert.deepEqual(content, [text(note), text('?')])
        }
      })
    }
  })
}

describe('PDFs in other places', () => {
  const use = { type: 'tool_use', id: 't1', name: 'f', input: {} }
  const result = { type: 'tool_result', tool_use_id: 't1', content: [text('read'), documentOf(SHORT)] }
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [use] },
    { role: 'user', content: [result] },
  ]

  test('the result of a tool has it at a provider of the same format', async () => {
    await asked('/v1/messages', 'test/anthropic-pdf', { max_tokens: 50, messages })
    assert.deepEqual((provider.last.body['messages'] as Sent[])[2]?.content, [result])
  })

  test('the user shows it to a provider of the OpenAI dialect', async () => {
    await asked('/v1/messages', 'test/openai-pdf', { max_tokens: 50, messages })
    assert.deepEqual((provider.last.body['messages'] as object[]).slice(2), [
      { role: 'tool', tool_call_id: 't1', content: 'read' },
      { role: 'user', content: [filePart(SHORT, 'document.pdf')] },
    ])
  })

  test('the output of a function has it at a provider of the Anthropic dialect, and the user shows it to another', async () => {
    const input = [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: 't1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 't1', output: [{ type: 'input_file', file_data: url(SHORT) }] },
    ]
    await asked('/v1/responses', 'test/anthropic-pdf', { input })
    assert.deepEqual((provider.last.body['messages'] as Sent[])[2]?.content, [
      { type: 'tool_result', tool_use_id: 't1', content: [documentOf(SHORT, { title: 'document.pdf' })] },
    ])
    await asked('/v1/responses', 'test/openai-pdf', { input })
    const sent = (provider.last.body['messages'] as Sent[]).slice(2)
    assert.deepEqual(sent[0], { role: 'tool', tool_call_id: 't1', content: '' })
    const shown = sent.slice(1) as readonly { role?: string; content: readonly { type?: string }[] }[]
    assert.deepEqual(
      shown.map(({ role, content }) => [role, content.map(({ type }) => type)]),
      [['user', ['file']]],
    )
  })

  test('a text file of a chat becomes a text', async () => {
    const file = (data: string) => ({ type: 'file', file: { file_data: url(data, 'text/plain') } })
    for (const said of ['hello', 'long '.repeat(2_000)]) {
      const content = [file(Buffer.from(said).toString('base64')), text('?')]
      const sentOn = await asked('/v1/chat/completions', 'test/openai-bare', { messages: [{ role: 'user', content }] })
      assert.deepEqual(sentOn.content, [text(said), text('?')])
    }
  })

  for (const file of [
    undefined,
    {},
    { file_id: 'f' },
    { file_data: 7 },
    { file_data: url('UEs=', 'application/zip') },
  ]) {
    test(`a file of a chat that is neither is refused: ${JSON.stringify(file)}`, async () => {
      const body = { model: 'test/openai-pdf', messages: [{ role: 'user', content: [{ type: 'file', file }] }] }
      const reply = await post(stack.baseUrl, '/v1/chat/completions', apiKey, body)
      assert.equal(reply.status, 400)
      assert.match(reply.text, /data URL of a PDF or a text/)
    })
  }
})
