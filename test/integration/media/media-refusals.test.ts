// Goal: every request that is not sound, or asks for what is not sold, is refused with its code and its field before
// anything is held, and no fields at all break the gateway.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { api } from '../../support/clients/apiClient.ts'
import { assertError } from '../../support/clients/chatClient.ts'
import { MEDIA_MODELS, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { limits } from '../../support/limits.ts'
import { mp3Frames, wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const E = 'test/embedding'
const I = 'test/image'
const S = 'test/speech'
const T = 'test/transcription'
const R = 'test/rerank'
const WAV = wavFile(1)

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({ catalog: { models: [...MEDIA_MODELS] } })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(() => stack.finish())

const json = (path: string, body: unknown) => postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body)
const form = (path: string, fields: Record<string, unknown>) => postForm(`${stack.baseUrl}/v1/${path}`, apiKey, fields)

type Case = [
  name: string,
  path: string,
  body: Record<string, unknown>,
  code: string | null,
  param?: string,
  status?: number,
]

const documents = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`)
const JSON_REFUSED: Case[] = [
  ['no input', 'embeddings', { model: E }, null, 'input'],
  ['an empty input', 'embeddings', { model: E, input: '' }, null, 'input'],
  ['an empty list', 'embeddings', { model: E, input: [] }, null, 'input'],
  ['an empty text in a list', 'embeddings', { model: E, input: ['a', ''] }, null, 'input'],
  ['an empty list of tokens', 'embeddings', { model: E, input: [[]] }, null, 'input'],
  ['tokens with a fraction', 'embeddings', { model: E, input: [1.5] }, null, 'input'],
  ['input of objects', 'embeddings', { model: E, input: [{ text: 'a' }] }, null, 'input'],
  [
    'too many dimensions',
    'embeddings',
    { model: E, input: 'a', dimensions: limits.embeddingDimensionsMax + 1 },
    null,
    'dimensions',
  ],
  ['too many inputs', 'embeddings', { model: E, input: documents(limits.embeddingInputsMax + 1) }, null, 'input'],
  [
    'a text beyond the window',
    'embeddings',
    { model: E, input: 'x'.repeat(64_100) },
    'context_length_exceeded',
    'input',
  ],
  ['tokens beyond the window', 'embeddings', { model: E, input: [Array(8_001).fill(1)] }, 'context_length_exceeded'],
  ['an unknown encoding', 'embeddings', { model: E, input: 'a', encoding_format: 'int8' }, null, 'encoding_format'],
  ['no dimensions', 'embeddings', { model: E, input: 'a', dimensions: 0 }, null, 'dimensions'],
  ['no model', 'embeddings', { input: 'a' }, null, 'model'],
  ['an unknown model', 'embeddings', { model: 'test/none', input: 'a' }, 'model_not_found', 'model', 404],
  ['a chat model', 'embeddings', { model: 'test/chat', input: 'a' }, 'wrong_endpoint', 'model'],
  ['a batch', 'embeddings', { model: `${E}:batch`, input: 'a' }, 'batch_unavailable'],
  ['an attested model', 'embeddings', { model: 'test/attested', input: 'a' }, 'endpoint_not_supported'],
  ['an unverified model', 'embeddings', { model: 'test/unverified', input: 'a' }, 'model_unverified', undefined, 503],
  ['a lower price', 'embeddings', priced(E, { input: 'a' }, '0.05'), 'no_route_for_policy', undefined, 404],
  ['no prompt', 'images/generations', { model: I }, null, 'prompt'],
  ['an empty prompt', 'images/generations', { model: I, prompt: '' }, null, 'prompt'],
  ['no images', 'images/generations', { model: I, prompt: 'x', n: 0 }, null, 'n'],
  ['too many images', 'images/generations', { model: I, prompt: 'x', n: 11 }, null, 'n'],
  ['half an image', 'images/generations', { model: I, prompt: 'x', n: 1.5 }, null, 'n'],
  ['a size of words', 'images/generations', { model: I, prompt: 'x', size: 'large' }, 'invalid_size', 'size'],
  ['a size of a number', 'images/generations', { model: I, prompt: 'x', size: 512 }, 'invalid_size', 'size'],
  ['a size that the provider chooses', 'images/generations', { model: I, prompt: 'x', size: 'auto' }, 'invalid_size'],
  ['a size out of range', 'images/generations', { model: I, prompt: 'x', size: '99999x10' }, 'invalid_size', 'size'],
  ['a size without a price', 'images/generations', { model: 'test/sizes', prompt: 'x', size: '64x64' }, 'invalid_size'],
  [
    'an unknown format',
    'images/generations',
    { model: I, prompt: 'x', response_format: 'png' },
    null,
    'response_format',
  ],
  ['streamed images', 'images/generations', { model: I, prompt: 'x', stream: true }, 'unsupported_parameter', 'stream'],
  [
    'max_price of images',
    'images/generations',
    priced(I, { prompt: 'x' }),
    'max_price_unsupported',
    'provider.max_price',
  ],
  ['no text', 'audio/speech', { model: S }, null, 'input'],
  ['an empty text', 'audio/speech', { model: S, input: '' }, null, 'input'],
  ['a text of 501 characters', 'audio/speech', { model: S, input: '👍'.repeat(501) }, 'input_too_long', 'input'],
  [
    'instructions beyond it',
    'audio/speech',
    { model: S, input: 'x'.repeat(300), instructions: 'x'.repeat(300) },
    'input_too_long',
  ],
  [
    'a text beyond the usual',
    'audio/speech',
    { model: 'test/speech-open', input: 'x'.repeat(4_097) },
    'input_too_long',
  ],
  ['an unknown format', 'audio/speech', { model: S, input: 'x', response_format: 'midi' }, null, 'response_format'],
  [
    'speech as events',
    'audio/speech',
    { model: S, input: 'x', stream_format: 'sse' },
    'unsupported_parameter',
    'stream_format',
  ],
  ['too fast', 'audio/speech', { model: S, input: 'x', speed: 5 }, null, 'speed'],
  ['an empty voice', 'audio/speech', { model: S, input: 'x', voice: '' }, null, 'voice'],
  ['max_price of speech', 'audio/speech', priced(S, { input: 'x' }), 'max_price_unsupported'],
  ['no query', 'rerank', { model: R, documents: ['a'] }, null, 'query'],
  ['no documents', 'rerank', { model: R, query: 'q' }, null, 'documents'],
  ['an empty list', 'rerank', { model: R, query: 'q', documents: [] }, null, 'documents'],
  ['a document of a number', 'rerank', { model: R, query: 'q', documents: ['a', 1] }, null, 'documents[1]'],
  ['too many documents', 'rerank', { model: R, query: 'q', documents: documents(10_001) }, null, 'documents'],
  ['the best none', 'rerank', { model: R, query: 'q', documents: ['a'], top_n: 0 }, null, 'top_n'],
  ['max_price of rerank', 'rerank', priced(R, { query: 'q', documents: ['a'] }), 'max_price_unsupported'],
]

function priced(model: string, body: Record<string, unknown>, price = '1'): Record<string, unknown> {
  return { model, ...body, provider: { max_price: { prompt: price } } }
}

const FORM_REFUSED: Case[] = [
  ['no file', 'audio/transcriptions', { model: T }, null, 'file'],
  ['an empty file', 'audio/transcriptions', { model: T, file: Buffer.alloc(0) }, null, 'file'],
  ['two files', 'audio/transcriptions', { model: T, file: [WAV, WAV] }, null, 'file'],
  ['text for audio', 'audio/transcriptions', { model: T, file: Buffer.from('hello') }, 'unsupported_audio', 'file'],
  [
    'an MP3 that is none',
    'audio/transcriptions',
    { model: T, file: Buffer.concat([mp3Frames(2), Buffer.alloc(9_000)]) },
    'unsupported_audio',
  ],
  [
    'an unknown format',
    'audio/transcriptions',
    { model: T, file: WAV, response_format: 'tsv' },
    null,
    'response_format',
  ],
  ['a stream', 'audio/transcriptions', { model: T, file: WAV, stream: 'true' }, null, 'stream'],
  ['a high temperature', 'audio/transcriptions', { model: T, file: WAV, temperature: '1.5' }, null, 'temperature'],
  ['a temperature of words', 'audio/transcriptions', { model: T, file: WAV, temperature: 'hot' }, null, 'temperature'],
  [
    'times without the format',
    'audio/transcriptions',
    { model: T, file: WAV, 'timestamp_granularities[]': 'word' },
    null,
    'timestamp_granularities',
  ],
  ['two models', 'audio/transcriptions', { model: [T, T], file: WAV }, null, 'model'],
  ['no model', 'audio/transcriptions', { file: WAV }, null, 'model'],
  ['a speech model', 'audio/transcriptions', { model: S, file: WAV }, 'wrong_endpoint', 'model'],
  [
    'max_price as JSON',
    'audio/transcriptions',
    { model: T, file: WAV, provider: '{"max_price":{"prompt":"1"}}' },
    'max_price_unsupported',
  ],
  [
    'max_price as fields',
    'audio/transcriptions',
    { model: T, file: WAV, 'provider[max_price][prompt]': '1' },
    'max_price_unsupported',
  ],
  ['preferences of words', 'audio/transcriptions', { model: T, file: WAV, provider: 'acme' }, null, 'provider'],
  ['no prompt', 'images/edits', { model: I, image: PNG }, null, 'prompt'],
  ['no picture', 'images/edits', { model: I, prompt: 'x' }, null, 'image'],
  ['text for a picture', 'images/edits', { model: I, prompt: 'x', image: Buffer.from('hello') }, null, 'image'],
  ['text for a mask', 'images/edits', { model: I, prompt: 'x', image: PNG, mask: Buffer.from('hello') }, null, 'mask'],
  [
    '17 pictures',
    'images/edits',
    { model: I, prompt: 'x', 'image[]': Array(17).fill(PNG) },
    'too_many_images',
    'image',
  ],
  [
    'a model without edits',
    'images/edits',
    { model: 'test/no-edits', prompt: 'x', image: PNG },
    'wrong_endpoint',
    'model',
  ],
  ['a strange size', 'images/edits', { model: I, prompt: 'x', image: PNG, size: 'big' }, 'invalid_size', 'size'],
  [
    'max_price of edits',
    'images/edits',
    { model: I, prompt: 'x', image: PNG, 'provider[max_price][prompt]': '1' },
    'max_price_unsupported',
  ],
]

for (const [send, cases] of [
  [json, JSON_REFUSED],
  [form, FORM_REFUSED],
] as const) {
  for (const [name, path, body, code, param, status = 400] of cases) {
    test(`${path}: ${name} is ${status} ${code ?? 'with a field'}`, async () => {
      const before = (await stack.provider.log()).length
      const reply = await send(path, body)
      assertError(reply, status, code, param)
      assert.equal((await stack.provider.log()).length, before)
      const id = reply.headers.get('x-request-id')
      const receipt = await api(stack.baseUrl, 'GET', `/v1/receipts/${id}`, { token: apiKey })
      assert.equal(receipt.status, 404, 'something was held')
    })
  }
}

test('any field values get a valid response', async () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(null, true, 0, -1, 1e308, '', 'x', [], [[]], [null], {}, { text: 1 }, '\ud800', [1, 2]),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const names = [
    'input',
    'prompt',
    'query',
    'documents',
    'n',
    'size',
    'encoding_format',
    'dimensions',
    'voice',
    'speed',
  ]
  const more = ['top_n', 'return_documents', 'response_format', 'provider', 'user', 'instructions', 'stream', 'model']
  const fields = fc.dictionary(fc.constantFrom(...names, ...more), value)
  const operations = { embeddings: E, 'images/generations': I, 'audio/speech': S, rerank: R }
  const sound = { input: 'x', prompt: 'x', query: 'x', documents: ['x'] }
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.entries(operations)), fields, async ([path, model], odd) => {
      const reply = await json(path, { model, ...sound, ...odd })
      assert.ok([200, 400, 404].includes(reply.status), `${JSON.stringify(odd)}: ${reply.text}`)
    }),
    { numRuns: 400 },
  )
})
