// Goal: what is not chat works with the official client by setting its address.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError, BadRequestError, NotFoundError, toFile } from 'openai'
import { mediaModel, postJson } from '../support/clients/mediaClient.ts'
import { itemOf } from '../support/present.ts'
import { assertCounted, type CountedReceipt, type MediaModality } from '../support/reconcile.ts'
import { wavFile } from '../support/samples/audio.ts'
import { MP3_VBR } from '../support/samples/encodedAudio.ts'
import { AAC_M4A, OPUS_WEBM, VORBIS_WEBM } from '../support/samples/encodedMovies.ts'
import { type Stack, startStack } from '../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')

let stack: Stack
let client: OpenAI
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      models: [
        mediaModel('test/embedding', 'embedding'),
        mediaModel('test/floats', 'embedding', 'mock,encoding=float'),
        mediaModel('test/image', 'image'),
        mediaModel('test/speech', 'speech', 'mock,chunks=20,delay=20'),
        mediaModel('test/broken', 'speech', 'mock,chunks=20,cut=5'),
        mediaModel('test/transcription', 'transcription', 'mock,seconds=3'),
        mediaModel('test/silent', 'transcription', 'mock,usage=none'),
        mediaModel('test/long', 'transcription', 'mock,seconds=60'),
        mediaModel('test/rerank', 'rerank'),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})
after(() => stack.finish())

async function assertReceipt(answer: unknown, modality: MediaModality): Promise<void> {
  const { receipt } = answer as { receipt: CountedReceipt }
  assert.equal(receipt.status, 'ok')
  assertCounted(receipt, modality, await stack.provider.log())
}

test('embeddings: the client requests base64 by default and gets the same numbers as with floats', async () => {
  const input = ['one', 'two']
  for (const model of ['test/embedding', 'test/floats']) {
    const usual = await client.embeddings.create({ model, input })
    const floats = await client.embeddings.create({ model, input, encoding_format: 'float' })
    assert.deepEqual(usual.data, floats.data)
    assert.equal(itemOf(usual.data, 1).embedding.length, 8)
    assert.ok(itemOf(usual.data, 1).embedding.some((number) => number !== 0))
    assert.deepEqual([usual.model, usual.usage.prompt_tokens, usual.object], [model, 2, 'list'])
    await assertReceipt(usual, 'embedding')
  }
  const raw = await client.embeddings.create({
    model: 'test/embedding',
    input,
    encoding_format: 'base64',
    dimensions: 3,
  })
  assert.equal(Buffer.from(String(itemOf(raw.data, 0).embedding), 'base64').length, 12)
  const one = await client.embeddings.create({ model: 'test/embedding', input: [1, 2, 3] })
  assert.deepEqual([one.data.length, one.usage.total_tokens], [1, 3])
})

test('images.generate', async () => {
  const answer = await client.images.generate({ model: 'test/image', prompt: 'a cat', n: 2, size: '1024x1024' })
  assert.equal(answer.data?.length, 2)
  assert.match(answer.data?.[0]?.b64_json ?? '', /^iVBOR/)
  await assertReceipt(answer, 'image')
  const linked = await client.images.generate({ model: 'test/image', prompt: 'a cat', response_format: 'url' })
  assert.match(linked.data?.[0]?.url ?? '', /^https:/)
})

test('images.edit, of one picture and of several', async () => {
  const file = (name: string) => toFile(PNG, name, { type: 'image/png' })
  const one = await client.images.edit({
    model: 'test/image',
    prompt: 'x',
    image: await file('a.png'),
    mask: await file('m.png'),
  })
  await assertReceipt(one, 'image')
  const two = await client.images.edit({
    model: 'test/image',
    prompt: 'x',
    image: [await file('a.png'), await file('b.png')],
  })
  await assertReceipt(two, 'image')
})

test('audio.speech.create: bytes are streamed as they arrive', async () => {
  await stack.provider.hold()
  const { data, response } = await client.audio.speech
    .create({ model: 'test/speech', voice: 'alloy', input: 'hello', response_format: 'wav' })
    .withResponse()
  assert.equal(response.headers.get('content-type'), 'audio/wav')
  assert.ok(Number(response.headers.get('x-cost-units')) > 0)
  let bytes = 0
  let pieces = 0
  for await (const piece of data.body ?? []) {
    // The rest comes once the client has the first.
    if (pieces === 0) await stack.provider.release()
    bytes += piece.length
    pieces++
  }
  assert.ok(bytes === 20_000 && pieces > 1, `${bytes} bytes in ${pieces} pieces`)
  const id = response.headers.get('x-request-id')
  assertCounted(await client.get<CountedReceipt>(`/receipts/${id}`), 'speech', await stack.provider.log())
})

test('audio.speech.create: a truncated response is an error', async () => {
  const response = await client.audio.speech.create({ model: 'test/broken', voice: 'alloy', input: 'hello' })
  await assert.rejects(() => response.arrayBuffer())
})

test('audio.transcriptions.create, in each format', async () => {
  const model = 'test/transcription'
  const file = () => toFile(MP3_VBR, 'speech.mp3')
  const json = await client.audio.transcriptions.create({ model, file: await file() })
  assert.equal(json.text, 'hello world')
  await assertReceipt(json, 'transcription')
  const text = await client.audio.transcriptions.create({ model, file: await file(), response_format: 'text' })
  assert.equal(text as unknown, 'hello world')
  const verbose = await client.audio.transcriptions.create({
    model,
    file: await toFile(wavFile(3), 'speech.wav'),
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  })
  assert.deepEqual([verbose.text, verbose.duration, verbose.segments?.length], ['hello world', 3, 1])
  await assertReceipt(verbose, 'transcription')
  const cue = '1\n00:00:00,000 --> 00:00:03,000\nhello world\n\n'
  const srt = await client.audio.transcriptions.create({ model, file: await file(), response_format: 'srt' })
  assert.equal(srt as unknown, cue)
  const vtt = await client.audio.transcriptions.create({ model, file: await file(), response_format: 'vtt' })
  assert.match(String(vtt), /^WEBVTT\n\n00:00:00\.000 --> 00:00:03\.000\nhello world\n/)
})

test("what phones and browsers record is charged by the provider's report within the hold, else as measured", async () => {
  const files = { 'voice.m4a': AAC_M4A, 'voice.mp4': AAC_M4A, 'voice.webm': OPUS_WEBM, 'voice.mkv': VORBIS_WEBM }
  for (const [name, bytes] of Object.entries(files)) {
    for (const task of ['transcriptions', 'translations'] as const) {
      const charged = async (model: string) => {
        const answer = await client.audio[task].create({ model, file: await toFile(bytes, name) })
        assert.equal(answer.text, 'hello world')
        return (answer as unknown as { receipt: CountedReceipt }).receipt
      }
      const reported = await charged('test/transcription')
      const measured = await charged('test/silent')
      assert.deepEqual([reported.usage.quantity, measured.usage.quantity], [3, 3], name)
      // A report above what the file can hold is charged up to the hold.
      assert.equal((await charged('test/long')).cost.units, reported.cost.units, name)
    }
  }
})

test('audio.translations.create', async () => {
  const model = 'test/transcription'
  const english = await client.audio.translations.create({ model, file: await toFile(MP3_VBR, 'speech.mp3') })
  assert.equal(english.text, 'hello world')
  await assertReceipt(english, 'transcription')
})

test('rerank, as clients without an official package send it', async () => {
  const body = { model: 'test/rerank', query: 'q', documents: ['a', 'b'], return_documents: true }
  const reply = await postJson(`${stack.baseUrl}/v1/rerank`, apiKey, body)
  const answer = JSON.parse(reply.text) as { results: { index: number; relevance_score: number }[] }
  assert.deepEqual(
    answer.results.map(({ index }) => index),
    [1, 0],
  )
  assert.ok(answer.results.every(({ relevance_score: score }) => score >= 0 && score <= 1))
  await assertReceipt(answer, 'rerank')
})

test('errors are thrown with the classes of the client', async () => {
  const cases: [abstract new (...args: never[]) => APIError, () => Promise<unknown>, string][] = [
    [NotFoundError, () => client.embeddings.create({ model: 'test/none', input: 'x' }), 'model_not_found'],
    [BadRequestError, () => client.embeddings.create({ model: 'test/image', input: 'x' }), 'wrong_endpoint'],
    [
      BadRequestError,
      () => client.images.generate({ model: 'test/image', prompt: 'x', size: '1x1' as never }),
      'invalid_size',
    ],
    [
      BadRequestError,
      async () => client.audio.transcriptions.create({ model: 'test/transcription', file: await toFile(PNG, 'a.mp3') }),
      'unsupported_audio',
    ],
    [
      BadRequestError,
      () => client.audio.speech.create({ model: 'test/speech', voice: 'alloy', input: 'x'.repeat(501) }),
      'input_too_long',
    ],
  ]
  for (const [kind, call, code] of cases) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof kind && error instanceof APIError, String(error))
      assert.equal(error.code, code)
      assert.match(error.requestID ?? '', /^req_/)
      return true
    })
  }
})
