// Goal: an answer that is not chat is charged for what came, and refused without a charge where nothing of use did, whatever
// form the provider gives it. One row an answer, as providers and public reports show them.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { receiptOf } from '../support/clients/chatClient.ts'
import { mediaModel, postForm, postJson } from '../support/clients/mediaClient.ts'
import { priceOf } from '../support/reconcile.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const IMAGE = priceOf('image', 1)
const SPOKEN = priceOf('speech', 10)
const json = (value: object) => JSON.stringify(value)
const vector = (index: number, embedding: unknown = [0.5, 1]) => ({ object: 'embedding', index, embedding })
const vectors = (...data: object[]) => json({ object: 'list', data, usage: { prompt_tokens: 2 } })
const events = (...all: object[]) => all.map((each) => `data: ${json(each)}\n\n`).join('')
const sound = { type: 'speech.audio.delta', audio: 'AAAA' }
const DONE = { type: 'speech.audio.done', usage: { input_tokens: 1, output_tokens: 1 } }

interface Row {
  readonly name: string
  readonly path: 'embeddings' | 'rerank' | 'images/generations' | 'audio/speech' | 'audio/transcriptions'
  readonly body?: object
  readonly answer: string
  readonly type?: string
  /** Units; 'some' is more than nothing, absent is refused and free. */
  readonly due?: number | 'some'
  /** Of an answer that is refused; 502 when absent. */
  readonly status?: number
}

const embedding = (name: string, answer: string, due?: 'some', body: object = {}): Row => ({
  name: `vectors: ${name}`,
  path: 'embeddings',
  body: { input: ['a', 'b'], ...body },
  answer,
  ...(due !== undefined && { due }),
})
const image = (name: string, answer: string, due?: number, body: object = {}): Row => ({
  name: `images: ${name}`,
  path: 'images/generations',
  body: { prompt: 'x', ...body },
  answer,
  ...(due !== undefined && { due }),
})
const speech = (name: string, answer: string, due?: number, type = 'text/event-stream'): Row => ({
  name: `speech: ${name}`,
  path: 'audio/speech',
  body: { input: 'x'.repeat(10), voice: 'v', ...(type === 'text/event-stream' && { stream_format: 'sse' }) },
  answer,
  type,
  ...(due !== undefined && { due }),
})

/** The client's fault, as the provider says in place of the sound. */
const faulty = (name: string, type: string, error: object): Row => ({
  ...speech(name, json(error), undefined, type),
  status: 400,
})
const BAD_VOICE = { error: { message: 'There is no such voice.', type: 'invalid_request_error', param: 'voice' } }

const ROWS: readonly Row[] = [
  embedding('one each', vectors(vector(0), vector(1)), 'some'),
  embedding(
    'out of order, with the name elsewhere',
    vectors({ ...vector(1), note: '"embedding":' }, vector(0)),
    'some',
  ),
  embedding('spread over lines', JSON.stringify(JSON.parse(vectors(vector(0), vector(1))), null, 2), 'some'),
  embedding('one for each token', vectors(vector(0, [[0.5]]), vector(1, [[-1]])), 'some'),
  embedding('a byte order mark', `\ufeff${vectors(vector(0), vector(1))}`, 'some'),
  embedding('an empty error', json({ data: [vector(0), vector(1)], error: '' }), 'some'),
  embedding(
    'an error of empty members',
    json({ data: [vector(0), vector(1)], error: { message: '', code: null } }),
    'some',
  ),
  embedding('one of two', vectors(vector(0))),
  embedding('four of two', vectors(vector(0), vector(0), vector(1), vector(1))),
  embedding('the second is null', vectors(vector(0), vector(1, null))),
  embedding('of nulls', vectors(vector(0, [null, null]), vector(1, [null, null]))),
  embedding('empty', vectors(vector(0, []), vector(1, []))),
  embedding('empty texts', vectors(vector(0, ''), vector(1, ''))),
  embedding('of two kinds', vectors(vector(0), vector(1, 'AAAAPw=='))),
  embedding('of no numbers', vectors(vector(0), vector(1)).replaceAll('0.5', 'NaN')),
  ...[
    { search_units: 1 },
    // Those of a provider that bills tokens.
    { input_tokens: 5, output_tokens: 0, search_units: 0, classifications: 0 },
  ].map(
    (billed): Row => ({
      name: `ranks: ${json(billed)}`,
      path: 'rerank',
      body: { query: 'q', documents: ['a'] },
      answer: json({ results: [{ index: 0, relevance_score: 0.9 }], meta: { billed_units: billed } }),
      due: priceOf('rerank', 1),
    }),
  ),
  image('one', json({ data: [{ b64_json: 'AAAA' }] }), IMAGE),
  image('an empty error', json({ data: [{ b64_json: 'AAAA' }], error: {} }), IMAGE),
  image('an empty address of what was blocked', json({ data: [{ url: '', respect_moderation: false }] })),
  image('an empty text', json({ data: [{ b64_json: '' }] })),
  image('one of two is empty', json({ data: [{ b64_json: '' }, { b64_json: 'AAAA' }] }), IMAGE, { n: 2 }),
  image('an event without an image', events({ type: 'image_generation.completed', b64_json: '' }), undefined, {
    stream: true,
  }),
  speech('events', events(sound, DONE), SPOKEN),
  speech('an end alone', events(DONE)),
  speech('pieces without sound', events({ ...sound, audio: '' }, DONE)),
  speech('blanks before a parameter', 'sound', SPOKEN, 'audio/mpeg ; charset=utf-8'),
  speech('a type twice', 'sound', SPOKEN, 'audio/mpeg, audio/mpeg'),
  speech('opus by its container', 'sound', SPOKEN, 'application/ogg'),
  speech('bytes of a store', 'sound', SPOKEN, 'binary/octet-stream'),
  speech('a page', '<html>', undefined, 'text/html'),
  faulty('an error in its place', 'application/json', BAD_VOICE),
  faulty('an error with a label of sound', 'audio/mpeg', BAD_VOICE),
  faulty('an error without a label', 'application/octet-stream', BAD_VOICE),
  faulty('an error of FastAPI', 'application/problem+json; charset=utf-8', { status: 400, detail: 'no voice' }),
  faulty('an error in an array', 'audio/mpeg', [BAD_VOICE]),
  { ...faulty('an error after a line', 'audio/mpeg', BAD_VOICE), answer: `\n ${json(BAD_VOICE)}` },
  faulty('the parameters at fault, as MiniMax says it', 'application/json', {
    base_resp: { status_code: 2013, status_msg: 'invalid params' },
  }),
  speech('JSON that is no error', json({ audio: 'AAAA' }), undefined, 'application/json'),
  speech('half an error', '{"error":', undefined, 'audio/mpeg'),
  speech('a long error', json({ error: { message: 'x'.repeat(70_000) } }), undefined, 'audio/mpeg'),
  {
    ...speech('samples that look like JSON', '{"', SPOKEN, 'audio/pcm'),
    body: { input: 'x'.repeat(10), response_format: 'pcm' },
  },
]

let stack: Stack
let apiKey: string
let answer: (response: ServerResponse) => void
const server = createServer((request, response) => {
  request.resume().once('end', () => answer(response))
})

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const routes = { routes: [{ provider: 'scripted', model: 'm' }] }
  stack = await startStack({
    limits: { breakerFailures: 10_000 },
    catalog: {
      providers: [{ id: 'scripted', base_url: baseUrl, event_streams: ['speech', 'images'] }],
      models: [
        mediaModel('test/embeddings', 'embedding', 'm', routes),
        mediaModel('test/images', 'image', 'm', routes),
        mediaModel('test/rerank', 'rerank', 'm', routes),
        mediaModel('test/audio', 'speech', 'm', routes),
        mediaModel('test/transcription', 'transcription', 'm', routes),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

describe('an answer that is not chat is charged for what came', () => {
  for (const { name, path, body, answer: text, type = 'application/json', due, status = 502 } of ROWS) {
    test(name, async () => {
      answer = (response) => void response.writeHead(200, { 'content-type': type }).end(text)
      const model = `test/${path.split('/')[0] ?? ''}`
      const isEvents = text.startsWith('data:')
      const reply = await postJson(`${stack.baseUrl}/v1/${path}`, apiKey, { model, ...body })
      await stack.settled()
      const receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
      const charged = Number(receipt.cost.units)
      if (due === 'some') assert.ok(charged > 0)
      else assert.equal(charged, due ?? 0)
      if (due !== undefined) assert.equal(reply.status, 200)
      else if (!isEvents) assert.equal(reply.status, status)
    })
  }
})

test('the default of a package for the times of a transcription is no reason to refuse it', async () => {
  answer = (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(json({ text: 'x', duration: 1 }))
  const wav = Buffer.concat([Buffer.from('RIFF'), Buffer.alloc(4), Buffer.from('WAVE')])
  const send = (granularity: string) =>
    postForm(`${stack.baseUrl}/v1/audio/transcriptions`, apiKey, {
      model: 'test/transcription',
      file: wav,
      response_format: 'json',
      'timestamp_granularities[]': granularity,
    })
  // The file is no sound, which is found after the fields were read.
  assert.match((await send('segment')).text, /unsupported_audio/)
  assert.match((await send('word')).text, /timestamp_granularities/)
})

test('a client that leaves before an error has come in place of sound pays nothing', async () => {
  for (const type of ['application/json', 'audio/mpeg']) {
    const client = new AbortController()
    const gone = new Promise<ServerResponse>((resolve) => {
      answer = (response) => {
        response.writeHead(200, { 'content-type': type }).flushHeaders()
        setImmediate(() => resolve(response))
      }
    })
    const sent = fetch(`${stack.baseUrl}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: json({ model: 'test/audio', input: 'x'.repeat(10), voice: 'v' }),
      signal: client.signal,
    })
    const response = await gone
    client.abort()
    await assert.rejects(sent, { name: 'AbortError' })
    await until('it is noticed', async () =>
      /^sluice_open_requests(?:\{[^}]*\})? 0$/m.test(await (await fetch(stack.metricsUrl)).text()),
    )
    response.end(json(BAD_VOICE))
    await stack.settled()
    const listed = await fetch(`${stack.baseUrl}/v1/receipts?limit=1`, {
      headers: { authorization: `Bearer ${apiKey}` },
    })
    const { data } = (await listed.json()) as { data: { status: string; cost: { units: string } }[] }
    assert.deepEqual([data[0]?.status, data[0]?.cost.units], ['failed', '0'], type)
  }
})
