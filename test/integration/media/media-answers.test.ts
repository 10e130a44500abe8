// Goal: what is sound arrives at the provider as it should, and nothing else with it; clients get what they asked for,
// whichever kind of provider answers.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { assertDescribed } from '../../support/answerSchemas.ts'
import { type Reply, receiptOf } from '../../support/clients/chatClient.ts'
import { answered, MEDIA_MODELS, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { itemOf } from '../../support/present.ts'
import { priceOf, servedFor } from '../../support/reconcile.ts'
import { mp3Frames, wavFile } from '../../support/samples/audio.ts'
import { FLAC, OPUS } from '../../support/samples/encodedAudio.ts'
import { AAC_M4A, OPUS_WEBM } from '../../support/samples/encodedMovies.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const JPEG = Buffer.from('ffd8ffe000104a464946', 'hex')
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

const json = async (path: string, body: unknown) =>
  described(path, await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body))
const form = async (path: string, fields: Record<string, unknown>) =>
  described(path, await postForm(`${stack.baseUrl}/v1/${path}`, apiKey, fields))

/** JSON has the schema that the OpenAPI document says. */
function described(path: string, reply: Reply): Reply {
  const isJson = reply.headers.get('content-type')?.includes('json') === true
  if (isJson && reply.status === 200) assertDescribed('POST', `/v1/${path}`, 200, JSON.parse(reply.text))
  return reply
}

/** The fields of the request that the provider got. */
async function forwarded(reply: Reply): Promise<Readonly<Record<string, unknown>>> {
  assert.equal(reply.status, 200, reply.text)
  const [line] = servedFor(reply.headers.get('x-request-id') ?? '', await stack.provider.log())
  return line?.fields ?? {}
}

test('embeddings are returned as floats and as base64, independent of the provider', async () => {
  const numbers = async (model: string, encoding_format?: string) => {
    const body = answered(await json('embeddings', { model, input: ['a', 'b'], encoding_format, dimensions: 5 }))
    const data = body['data'] as { object: string; index: number; embedding: number[] | string }[]
    assert.deepEqual([body['object'], body['model']], ['list', model])
    assert.deepEqual(body['usage'], { prompt_tokens: 2, total_tokens: 2 })
    return data.map(({ object, index, embedding }) => {
      assert.equal(object, 'embedding')
      assert.equal(typeof embedding === 'string', encoding_format === 'base64')
      const bytes = typeof embedding === 'string' ? Buffer.from(embedding, 'base64') : null
      const floats = bytes === null ? embedding : [0, 1, 2, 3, 4].map((place) => bytes.readFloatLE(place * 4))
      return [index, floats]
    })
  }
  const expected = await numbers(E)
  for (const model of [E, 'test/floats', 'test/base64']) {
    for (const encoding of [undefined, 'float', 'base64']) assert.deepEqual(await numbers(model, encoding), expected)
  }
})

test('only the supported fields of an embeddings request are forwarded', async () => {
  const body = { input: [[1, 2], [3]], encoding_format: 'float', dimensions: 3, user: 'u' }
  const extras = { model: `${E}:cheapest`, provider: { allow_retention: true }, service_tier: 'priority', n: 5 }
  assert.deepEqual(await forwarded(await json('embeddings', { ...body, ...extras })), { model: 'mock', ...body })
})

test('images: the charge matches the images made, and options with their own price are dropped', async () => {
  const extras = { quality: 'hd', style: 'vivid', background: 'transparent', partial_images: 3, moderation: 'low' }
  const plain = await json('images/generations', {
    model: I,
    prompt: 'x',
    user: 'u',
    response_format: 'url',
    ...extras,
  })
  assert.deepEqual(await forwarded(plain), { model: 'mock', n: 1, prompt: 'x', response_format: 'url', user: 'u' })
  const sizes: [string | undefined, string, string][] = [
    [undefined, '1024x1024', '40000000'],
    ['512x512', '512x512', '10000000'],
    ['1536x1024', '1536x1024', '60000000'],
  ]
  for (const [size, made, units] of sizes) {
    const reply = await json('images/generations', { model: 'test/sizes', prompt: 'x', size })
    assert.equal((await forwarded(reply))['size'], made)
    const { receipt } = answered(reply)
    assert.equal(receipt.cost.units, units)
    // Whoever has the receipt and the public sheet can compute the charge.
    const sheet = await fetch(`${stack.baseUrl}/v1/pricing/sheets/${receipt.price_sheet}`).then((answer) =>
      answer.json(),
    )
    const { models } = sheet as { models: { id: string; price: { sizes?: Record<string, string> } }[] }
    const { quantity = 0, size: shown = '' } = receipt.usage
    const usd = models.find(({ id }) => id === receipt.model)?.price.sizes?.[shown]
    assert.equal(String(Math.round(Number(usd) * 1e9) * quantity), units)
    const booked = await receiptOf(stack.baseUrl, apiKey, receipt.request_id)
    assert.equal((booked.usage as { size?: string }).size, made)
  }
  const body = answered(await json('images/generations', { model: I, prompt: 'x', n: 3, size: '300x200' }))
  const data = body['data'] as { b64_json: string }[]
  assert.deepEqual([data.length, body.receipt.usage.quantity, body['model']], [3, 3, I])
  assert.ok(Number.isInteger(body['created']) && itemOf(data, 0).b64_json.length > 50)
})

test('images/edits: pictures and mask arrive whole, with the supported fields', async () => {
  const describe = (data: Buffer, filename: string, type: string) => ({
    filename,
    type,
    bytes: data.length,
    sha256: createHash('sha256').update(data).digest('hex'),
  })
  const one = await form('images/edits', { image: PNG, prompt: 'x', mask: PNG, quality: 'hd', n: '2', model: I })
  assert.deepEqual(await forwarded(one), {
    model: 'mock',
    n: '2',
    prompt: 'x',
    image: describe(PNG, 'image.png', 'image/png'),
    mask: describe(PNG, 'mask.png', 'image/png'),
  })
  assert.equal(answered(one).receipt.cost.units, String(priceOf('image', 2)))
  const two = await form('images/edits', { 'image[]': [PNG, JPEG], prompt: 'x', size: '256x256', model: I })
  assert.deepEqual((await forwarded(two))['image[]'], [
    describe(PNG, 'image.png', 'image/png'),
    describe(JPEG, 'image.jpg', 'image/jpeg'),
  ])
})

test('speech: the default voice is sent, and extra fields are not', async () => {
  const body = { input: 'x', speed: 1.5, instructions: 'slowly', response_format: 'flac' }
  const reply = await json('audio/speech', { model: S, ...body, stream_format: 'audio', service_tier: 'x' })
  assert.deepEqual(await forwarded(reply), { model: 'mock', voice: 'alloy', ...body })
  assert.equal(reply.headers.get('content-type'), 'audio/flac')
  const voiced = await json('audio/speech', { model: S, input: 'x', voice: { id: 'v', extra: 1 } })
  assert.deepEqual((await forwarded(voiced))['voice'], { id: 'v' })
})

test('transcriptions: each container and each format', async () => {
  const files: [Buffer, string, string][] = [
    [WAV, 'audio.wav', 'audio/wav'],
    [FLAC, 'audio.flac', 'audio/flac'],
    [mp3Frames(50), 'audio.mp3', 'audio/mpeg'],
    [OPUS, 'audio.ogg', 'audio/ogg'],
    [AAC_M4A, 'audio.mp4', 'audio/mp4'],
    [OPUS_WEBM, 'audio.webm', 'audio/webm'],
  ]
  for (const [file, filename, type] of files) {
    const sha256 = createHash('sha256').update(file).digest('hex')
    const reply = await form('audio/transcriptions', { file, language: 'en', model: T })
    assert.deepEqual(await forwarded(reply), {
      model: 'mock',
      response_format: 'json',
      language: 'en',
      file: { filename, type, bytes: file.length, sha256 },
    })
    const body = answered(reply)
    assert.deepEqual([body['text'], body['usage']], ['hello world', { type: 'duration', seconds: 1 }])
  }
  const text = await form('audio/transcriptions', { file: WAV, model: T, response_format: 'text' })
  assert.deepEqual([text.text, text.headers.get('content-type')], ['hello world', 'text/plain; charset=utf-8'])
  assert.equal(text.headers.get('x-cost-units'), String(priceOf('transcription', 1)))
  assert.equal((await forwarded(text))['response_format'], 'json')
  const fields = { prompt: 'names', temperature: '0.5', 'timestamp_granularities[]': ['word', 'segment'] }
  const verbose = await form('audio/transcriptions', {
    model: T,
    response_format: 'verbose_json',
    ...fields,
    file: WAV,
  })
  const { file: _, ...rest } = await forwarded(verbose)
  assert.deepEqual(rest, { model: 'mock', response_format: 'verbose_json', ...fields })
  const body = answered(verbose)
  assert.deepEqual([body['task'], body['duration'], (body['segments'] as unknown[]).length], ['transcribe', 1, 1])
})

test('transcriptions: subtitles are made of the segments, and charged like any other format', async () => {
  for (const [format, cue, type] of [
    ['srt', '1\n00:00:00,000 --> 00:00:01,000\nhello world\n\n', 'text/plain; charset=utf-8'],
    ['vtt', 'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nhello world\n\n', 'text/vtt; charset=utf-8'],
  ] as const) {
    const reply = await form('audio/transcriptions', { file: WAV, model: T, response_format: format })
    assert.deepEqual([reply.status, reply.text, reply.headers.get('content-type')], [200, cue, type])
    assert.equal(reply.headers.get('x-cost-units'), String(priceOf('transcription', 1)))
    assert.equal((await forwarded(reply))['response_format'], 'verbose_json')
  }
})

test('translations: the provider is asked to translate, in each format, and refuses a language', async () => {
  const asked = await form('audio/translations', { file: WAV, model: T, prompt: 'names' })
  assert.deepEqual(
    [answered(asked)['text'], answered(asked)['usage']],
    ['hello world', { type: 'duration', seconds: 1 }],
  )
  const { file: _, ...rest } = await forwarded(asked)
  assert.deepEqual(rest, { model: 'mock', response_format: 'json', prompt: 'names' })
  assert.equal(asked.headers.get('x-cost-units'), String(priceOf('transcription', 1)))
  const subtitles = await form('audio/translations', { file: WAV, model: T, response_format: 'srt' })
  assert.match(subtitles.text, /^1\n00:00:00,000 --> 00:00:01,000\n/)
  const refused = await form('audio/translations', { file: WAV, model: T, language: 'de' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /"param":"language"/)
})

test('rerank: results are ordered by score with their index in the request, from either kind of provider', async () => {
  for (const model of [R, 'test/jina']) {
    const request = { model, query: 'q', documents: ['a', { text: 'b' }, 'c'], top_n: 2 }
    const body = answered(await json('rerank', { ...request, max_chunks_per_doc: 9 }))
    assert.deepEqual(body['results'], [
      { index: 2, relevance_score: 0.75 },
      { index: 1, relevance_score: 0.5 },
    ])
    assert.equal(body['id'], body.receipt.request_id)
    assert.deepEqual((body['meta'] as Record<string, unknown>)['billed_units'], { search_units: 1 })
    const full = await json('rerank', { ...request, return_documents: true })
    assert.deepEqual(await forwarded(full), {
      model: model === R ? 'mock' : 'mock,style=jina',
      query: 'q',
      documents: ['a', 'b', 'c'],
      top_n: 2,
    })
    const [first] = answered(full)['results'] as { document: unknown }[]
    assert.deepEqual(first?.document, { text: 'c' })
  }
})
