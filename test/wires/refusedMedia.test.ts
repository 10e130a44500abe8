// Goal: an image or a PDF of a turn that is over, or of a tool's result, which a provider refuses at every further request, does
// not lock the conversation: the request is sent once more with a note in its place. One row a sentence of a provider, as public
// reports show them (anthropics/claude-code 2939, moonshotai/kimi-code 2378). The user's newest ones are refused to the user.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI from 'openai'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { refusal, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { assistant, HELLO, text, use, user } from './blockRows.ts'

const PNG = 'iVBORw0KGgo='
const SENTENCES: readonly string[] = [
  'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes',
  'messages.3.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
  'messages.3.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
  'Could not process image',
  'Invalid image data: cannot identify image file',
  'You uploaded an unsupported image. Please make sure your image is valid.',
  'The image data you provided does not represent a valid image. Please check your input and try again.',
  'Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1',
  'This model does not support image input',
  "Model 'm' doesn't support images",
  'image_url is not supported by this model',
  'Too much media: 0 document pages + 101 images > 100',
]
const OF_DOCUMENTS: readonly string[] = [
  'messages.0.content.1.pdf.source.base64.data: The PDF specified was not valid.',
  'messages.0.content.1.pdf.source.base64.data: The PDF specified is password protected.',
  'messages.0.content.1.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.',
  'Could not process PDF',
  'Failed to parse the document',
  'This model does not support file inputs',
]
/** Refusals that are not about an image or a PDF. */
const OTHERS: readonly string[] = ['messages.0: text content blocks must be non-empty', 'temperature must be at most 1']

const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }
const call = { id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const asks = { role: 'assistant', content: null, tool_calls: [call] }
const shows = (image: object) => user({ type: 'tool_result', tool_use_id: 't1', content: [text('x'), image] })

let stack: Stack
let provider: TurnProvider
let apiKey: string
let client: OpenAI
let sentence = ''

before(async () => {
  provider = await TurnProvider.start(({ body, path }): Turn => {
    const isRefused =
      /"(?:image(?:_url)?|document|file)"/.test(JSON.stringify(body['messages'])) || OTHERS.includes(sentence)
    if (!isRefused) return { text: 'ok' }
    return refusal(sentence, path)
  })
  stack = await startStack({
    catalog: turnCatalog(provider.url, { pdf_page_tokens: 1_000 }),
  })
  apiKey = (await stack.createAccount()).apiKey
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

for (const dialect of OVER) {
  const model = `test/${dialect}`

  describe(`media that a provider of the dialect ${dialect} refuses`, () => {
    for (const [said, sent, kind] of [
      ...SENTENCES.map((each) => [each, part, 'image'] as const),
      ...OF_DOCUMENTS.map((each) => [each, file, 'input_file'] as const),
    ]) {
      test(said, async () => {
        sentence = said
        const before = provider.asked.length
        const history = [{ role: 'user', content: [text('see'), sent] }, { role: 'assistant', content: 'a' }, HELLO]
        const answer = await client.chat.completions.create({
          model,
          messages: history as OpenAI.ChatCompletionMessageParam[],
        })
        assert.equal(answer.choices[0]?.message.content, 'ok')
        assert.equal(provider.asked.length - before, 2)
        const shown = (provider.last.body['messages'] as object[])[0]
        assert.deepEqual(shown, { role: 'user', content: [text('see'), text(`[${kind} left out]`)] })
      })
    }

    test('in a result of a tool, for clients of chat and of Messages', async () => {
      sentence = 'Could not process image'
      const chats = [HELLO, asks, { role: 'tool', tool_call_id: 't1', content: [text('x'), part] }]
      await client.chat.completions.create({ model, messages: chats as OpenAI.ChatCompletionMessageParam[] })
      const byChat = provider.last.body['messages']
      const reply = await messages(stack.baseUrl, apiKey, { model, messages: [HELLO, assistant(use), shows(block)] })
      assert.equal(reply.status, 200, reply.text)
      for (const sent of [byChat, provider.last.body['messages']])
        assert.match(JSON.stringify(sent), /\[image left out\]/)
    })

    test('of the newest message of the user is refused to the user', async () => {
      sentence = 'Could not process image'
      const newest = { role: 'user', content: [text('see'), part] }
      for (const reply of [
        await chat(stack.baseUrl, apiKey, { model, messages: [HELLO, { role: 'assistant', content: 'a' }, newest] }),
        await messages(stack.baseUrl, apiKey, {
          model,
          messages: [HELLO, assistant(text('a')), user(text('see'), block)],
        }),
      ]) {
        assert.equal(reply.status, 400)
        assert.match(reply.text, /Could not process image/)
      }
    })

    for (const said of OTHERS) {
      test(`another refusal is told as it is: ${said}`, async () => {
        sentence = said
        const before = provider.asked.length
        const history = [{ role: 'user', content: [text('see'), part] }, { role: 'assistant', content: 'a' }, HELLO]
        const reply = await chat(stack.baseUrl, apiKey, { model, messages: history })
        assert.deepEqual([reply.status, provider.asked.length - before], [400, 1])
      })
    }
  })
}

describe('an image or a file of a history that cannot be served is left out', () => {
  before(() => {
    sentence = ''
  })

  const SVG = 'data:image/svg+xml;base64,PHN2Zy8+'
  // Long strings of a request are forwarded as its own bytes.
  const LONG = 'PHN2'.repeat(1_000)
  const LONG_SVG = `data:image/svg+xml;base64,${LONG}`
  const titleOf = (sent: object) => `${JSON.stringify(sent).slice(0, 80)}, ${JSON.stringify(sent).length} characters`
  const ok = { role: 'assistant', content: 'a' }
  const image = (url: string) => ({ type: 'image_url', image_url: { url } })
  const docx = { type: 'file', file: { filename: 'a.docx', file_data: 'data:application/msword;base64,AAAA' } }
  const PARTS: readonly object[] = [
    image(SVG),
    image(LONG_SVG),
    { type: 'file', file: { filename: 'a.docx', file_data: `data:application/msword;base64,${LONG}` } },
    image('shot.png'),
    image('file:///a.png'),
    docx,
    { type: 'file', file: { file_id: 'f' } },
  ]
  const blockOf = (source: object) => ({ type: 'image', source })
  const BLOCKS: readonly object[] = [
    blockOf({ type: 'base64', media_type: 'image/svg+xml', data: 'AAAA' }),
    blockOf({ type: 'base64', media_type: 'image/svg+xml', data: LONG }),
    blockOf({ type: 'url', url: LONG_SVG }),
    blockOf({ type: 'url', url: 'file:///tmp/a.png' }),
    blockOf({ type: 'file', file_id: 'f' }),
  ]
  const ITEMS: readonly object[] = [
    { type: 'input_image', image_url: SVG },
    { type: 'input_image', image_url: LONG_SVG },
    { type: 'input_image', file_id: 'f' },
    { type: 'input_image', image_url: 'shot.png' },
  ]

  for (const sent of PARTS) {
    test(`of a chat: ${titleOf(sent)}`, async () => {
      const model = 'test/openai'
      const old = [{ role: 'user', content: [text('see'), sent] }, ok, HELLO]
      const shown = [HELLO, asks, { role: 'tool', tool_call_id: 't1', content: [text('x'), sent] }]
      for (const history of [old, shown]) {
        const reply = await chat(stack.baseUrl, apiKey, { model, messages: history })
        assert.equal(reply.status, 200, reply.text)
        assert.match(JSON.stringify(provider.last.body['messages']), / left out\]/)
      }
      const newest = await chat(stack.baseUrl, apiKey, {
        model,
        messages: [{ role: 'user', content: [text('see'), sent] }],
      })
      assert.equal(newest.status, 400)
    })
  }

  for (const sent of BLOCKS) {
    test(`of Messages: ${titleOf(sent)}`, async () => {
      for (const history of [
        [user(text('see'), sent), ok, HELLO],
        [HELLO, assistant(use), shows(sent)],
      ]) {
        const reply = await messages(stack.baseUrl, apiKey, { model: 'test/anthropic', messages: history })
        assert.equal(reply.status, 200, reply.text)
        assert.match(JSON.stringify(provider.last.body['messages']), /\[image left out\]/)
      }
      const newest = await messages(stack.baseUrl, apiKey, {
        model: 'test/anthropic',
        messages: [user(text('see'), sent)],
      })
      assert.equal(newest.status, 400)
    })
  }

  for (const sent of ITEMS) {
    test(`of responses: ${titleOf(sent)}`, async () => {
      const said = (content: readonly object[]) => ({ role: 'user', content })
      const made = { type: 'function_call', call_id: 't1', name: 'f', arguments: '{}' }
      for (const input of [
        [said([{ type: 'input_text', text: 'see' }, sent]), ok, HELLO],
        [HELLO, made, { type: 'function_call_output', call_id: 't1', output: [sent] }],
      ]) {
        const reply = await post(stack.baseUrl, '/v1/responses', apiKey, { model: 'test/openai', input })
        assert.equal(reply.status, 200, reply.text)
        assert.match(JSON.stringify(provider.last.body['messages']), /\[image left out\]/)
      }
      const newest = await post(stack.baseUrl, '/v1/responses', apiKey, {
        model: 'test/openai',
        input: [said([sent])],
      })
      assert.equal(newest.status, 400)
    })
  }
})
