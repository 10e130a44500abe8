// Goal: speech and images arrive as events where the provider has them, are charged as the same without events, and are
// refused by name where it has none. Whoever breaks off, what the provider bills is paid once. One row a case.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { receiptOf } from '../../support/clients/chatClient.ts'
import { mediaModel, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { assertCounted, type CountedReceipt, priceOf, servedFor } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import type { TestModel } from '../../support/testCatalog.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const TEXT = 'x'.repeat(100)
const SPOKEN = priceOf('speech', 100)
const IMAGE = priceOf('image', 1)

const streaming = (id: string, modality: 'speech' | 'image', upstream: string, more: object = {}): TestModel =>
  mediaModel(id, modality, upstream, { routes: [{ provider: 'events', model: upstream }], ...more })

let stack: Stack
let apiKey: string
let client: OpenAI

before(async () => {
  stack = await startStack({
    limits: { idleTimeoutMs: 8_000, breakerFailures: 10_000 },
    catalog: {
      providers: [{ id: 'mock' }, { id: 'events', event_streams: ['speech', 'images'] }],
      models: [
        streaming('test/speech', 'speech', 'mock,chunks=10'),
        streaming('test/speech-cut', 'speech', 'mock,chunks=10,cut=4'),
        streaming('test/speech-fin', 'speech', 'mock,chunks=10,fin=4'),
        streaming('test/speech-none', 'speech', 'mock,error=400'),
        streaming('test/speech-slow', 'speech', 'mock,chunks=2000,delay=5'),
        streaming('test/speech-second', 'speech', 'mock', {
          routes: ['mock,error=500', 'mock,html200', 'mock,chunks=3'].map((model) => ({ provider: 'events', model })),
        }),
        streaming('test/speech-mixed', 'speech', 'mock', {
          routes: [
            { provider: 'mock', model: 'mock,chunks=2' },
            { provider: 'events', model: 'mock,chunks=3' },
          ],
        }),
        mediaModel('test/speech-plain', 'speech'),
        streaming('test/image', 'image', 'mock'),
        streaming('test/image-cut', 'image', 'mock,cut=1'),
        streaming('test/image-fin', 'image', 'mock,fin=3'),
        streaming('test/image-slow', 'image', 'mock,delay=50'),
        streaming('test/image-whole', 'image', 'mock,unstreamed'),
        mediaModel('test/image-plain', 'image'),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})
after(() => stack.finish())

interface Got {
  readonly status: number
  readonly type: string
  readonly id: string
  readonly events: Record<string, unknown>[]
  /** Of the comment at the end. */
  readonly receipt: CountedReceipt | null
}

function eventsOf(text: string): Pick<Got, 'events' | 'receipt'> {
  const lines = text.split('\n')
  const comment = lines.find((line) => line.startsWith(': receipt '))
  return {
    events: lines
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>),
    receipt: comment === undefined ? null : (JSON.parse(comment.slice(10)) as CountedReceipt),
  }
}

async function ask(path: string, body: Record<string, unknown>): Promise<Got> {
  const url = `${stack.baseUrl}/v1/${path}`
  const reply = await (path.endsWith('edits') ? postForm(url, apiKey, body) : postJson(url, apiKey, body))
  const { status, headers, text } = reply
  const id = String(headers.get('x-request-id'))
  return { status, type: String(headers.get('content-type')), id, ...eventsOf(text) }
}

const speak = (model: string) => ask('audio/speech', { model, input: TEXT, stream_format: 'sse' })
const draw = (model: string, more: object = {}) =>
  ask('images/generations', { model, prompt: 'x', stream: true, partial_images: 2, ...more })

/** The receipt in the book, which has to be the one that the client got. */
async function booked({ id, receipt }: Pick<Got, 'id' | 'receipt'>): Promise<CountedReceipt> {
  await until('the request has ended', async () => {
    const text = await (await fetch(stack.metricsUrl)).text()
    return /^sluice_active_runs 0$/m.test(text)
  })
  const found = (await receiptOf(stack.baseUrl, apiKey, id)) as CountedReceipt
  if (receipt !== null) assert.deepEqual([receipt.cost.units, receipt.status], [found.cost.units, found.status])
  return found
}

const typesOf = ({ events }: Pick<Got, 'events'>) => events.map(({ type }) => type)
const errorOf = ({ events }: Pick<Got, 'events'>) => (events.at(-1)?.['error'] as { code?: string } | undefined)?.code

describe('speech as events', () => {
  test('the sound, its end and the receipt, at the price of the same speech', async () => {
    const got = await speak('test/speech')
    assert.deepEqual([got.status, got.type], [200, 'text/event-stream; charset=utf-8'])
    assert.deepEqual(typesOf(got), [...new Array<string>(10).fill('speech.audio.delta'), 'speech.audio.done'])
    const sound = Buffer.concat(got.events.map(({ audio }) => Buffer.from(String(audio ?? ''), 'base64')))
    assert.ok(sound.equals(Buffer.concat(Array.from({ length: 10 }, (_, index) => Buffer.alloc(1_000, index)))))
    assert.deepEqual(got.events.at(-1)?.['usage'], { input_tokens: 10, output_tokens: 20, total_tokens: 30 })
    const receipt = await booked(got)
    assert.deepEqual([receipt.status, receipt.cost.units], ['ok', String(SPOKEN)])
    assertCounted(receipt, 'speech', await stack.provider.log())
    const plain = await postJson(`${stack.baseUrl}/v1/audio/speech`, apiKey, { model: 'test/speech', input: TEXT })
    assert.equal(plain.headers.get('x-cost-units'), receipt.cost.units)
  })

  test('the official client reads them', async () => {
    const response = await client.audio.speech.create({
      model: 'test/speech',
      input: TEXT,
      voice: 'alloy',
      stream_format: 'sse',
    })
    assert.equal(typesOf(eventsOf(await response.text())).at(-1), 'speech.audio.done')
  })

  for (const model of ['test/speech-cut', 'test/speech-fin']) {
    test(`broken off by the provider: ${model}`, async () => {
      const got = await speak(model)
      assert.deepEqual(typesOf(got).slice(0, -1), new Array<string>(4).fill('speech.audio.delta'))
      assert.equal(errorOf(got), 'stream_interrupted')
      const receipt = await booked(got)
      assert.deepEqual([receipt.status, receipt.cost.units], ['partial', String(SPOKEN)])
      assertCounted(receipt, 'speech', await stack.provider.log())
    })
  }

  test('another route serves where one fails before its first event', async () => {
    const got = await speak('test/speech-second')
    assert.equal(got.events.length, 4)
    assert.equal((await booked(got)).status, 'ok')
  })

  test('a provider without events is not asked for them', async () => {
    assert.equal((await speak('test/speech-mixed')).events.length, 4)
    const reply = await postJson(`${stack.baseUrl}/v1/audio/speech`, apiKey, {
      model: 'test/speech-mixed',
      input: TEXT,
      stream_format: 'audio',
    })
    assert.equal(Buffer.byteLength(reply.text, 'latin1') > 0, true)
    assert.equal(reply.headers.get('content-type'), 'audio/mpeg')
  })

  test('a client that leaves pays for the text', async () => {
    const leaving = new AbortController()
    const response = await fetch(`${stack.baseUrl}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/speech-slow', input: TEXT, stream_format: 'sse' }),
      signal: leaving.signal,
    })
    const id = String(response.headers.get('x-request-id'))
    await response.body?.getReader().read()
    leaving.abort()
    assert.equal((await booked({ id, receipt: null })).cost.units, String(SPOKEN))
  })
})

describe('images as events', () => {
  for (const [title, more, types] of [
    ['two on the way', {}, ['partial_image', 'partial_image', 'completed']],
    ['none on the way', { partial_images: 0 }, ['completed']],
    ['no number of them', { partial_images: undefined }, ['completed']],
    ['two images', { n: 2, partial_images: 1 }, ['partial_image', 'completed', 'partial_image', 'completed']],
    ['in base64', { response_format: 'b64_json', partial_images: 1 }, ['partial_image', 'completed']],
  ] as const) {
    for (const [path, kind] of [
      ['images/generations', 'image_generation'],
      ['images/edits', 'image_edit'],
    ] as const) {
      test(`${title}: ${path}`, async () => {
        const body = { model: 'test/image', prompt: 'x', stream: true, partial_images: 2, ...more }
        const got = await ask(path, path.endsWith('edits') ? { ...body, image: PNG } : body)
        assert.deepEqual(
          typesOf(got),
          types.map((type) => `${kind}.${type}`),
        )
        assert.ok(got.events.every(({ b64_json: image }) => String(image).length > 50))
        const receipt = await booked(got)
        const images = types.filter((type) => type === 'completed').length
        assert.deepEqual([receipt.status, receipt.cost.units], ['ok', String(images * IMAGE)])
        assertCounted(receipt, 'image', await stack.provider.log())
      })
    }
  }

  for (const n of [1, 3]) {
    test(`a provider that answers in one piece, ${n} of them`, async () => {
      const got = await draw('test/image-whole', { n })
      assert.deepEqual(typesOf(got), new Array<string>(n).fill('image_generation.completed'))
      const receipt = await booked(got)
      assert.deepEqual([receipt.status, receipt.cost.units], ['ok', String(n * IMAGE)])
      assertCounted(receipt, 'image', await stack.provider.log())
    })
  }

  test('the official client reads them', async () => {
    const types: string[] = []
    const body = { model: 'test/image', prompt: 'x', stream: true, partial_images: 1 } as const
    for await (const event of await client.images.generate(body)) types.push(event.type)
    for await (const event of await client.images.edit({ ...body, image: await toFile(PNG, 'a.png') })) {
      types.push(event.type)
    }
    assert.deepEqual(types, [
      'image_generation.partial_image',
      'image_generation.completed',
      'image_edit.partial_image',
      'image_edit.completed',
    ])
  })

  test('broken off before the image: nothing is charged', async () => {
    const got = await draw('test/image-cut')
    assert.equal(errorOf(got), 'stream_interrupted')
    const receipt = await booked(got)
    assert.deepEqual([receipt.status, receipt.cost.units], ['partial', '0'])
  })

  test('broken off before the second of two images: the first is charged', async () => {
    const got = await draw('test/image-fin', { n: 2, partial_images: 1 })
    assert.equal(errorOf(got), 'stream_interrupted')
    const receipt = await booked(got)
    assert.deepEqual([receipt.status, receipt.cost.units], ['partial', String(IMAGE)])
    assertCounted(receipt, 'image', await stack.provider.log())
  })

  test('the image is charged that is made for a client that has left', async () => {
    const leaving = new AbortController()
    await stack.provider.hold()
    const response = await fetch(`${stack.baseUrl}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/image-slow', prompt: 'x', stream: true, partial_images: 3 }),
      signal: leaving.signal,
    })
    const id = String(response.headers.get('x-request-id'))
    await response.body?.getReader().read()
    await stack.provider.leaveHeld({ destroy: () => leaving.abort() })
    const receipt = await booked({ id, receipt: null })
    assert.deepEqual([receipt.cost.units, receipt.error], [String(IMAGE), 'client_gone'])
    // The gateway has all that it pays for before the provider ends its answer and notes it.
    await until('the provider noted it', async () => servedFor(id, await stack.provider.log()).length > 0)
    assertCounted(receipt, 'image', await stack.provider.log())
  })
})

for (const [title, path, body, param] of [
  [
    'speech, no provider has events',
    'audio/speech',
    { model: 'test/speech-plain', stream_format: 'sse' },
    'stream_format',
  ],
  ['images, no provider has events', 'images/generations', { model: 'test/image-plain', stream: true }, 'stream'],
  ['edits, no provider has events', 'images/edits', { model: 'test/image-plain', stream: true, image: PNG }, 'stream'],
  ['too many on the way', 'images/generations', { stream: true, partial_images: 4 }, 'partial_images'],
  ['less than none', 'images/generations', { stream: true, partial_images: -1 }, 'partial_images'],
  ['a text', 'images/generations', { stream: true, partial_images: '2' }, 'partial_images'],
  ['half a one', 'images/edits', { stream: true, partial_images: 1.5, image: PNG }, 'partial_images'],
  ['addresses', 'images/generations', { stream: true, response_format: 'url' }, 'response_format'],
  ['a stream of no kind', 'images/generations', { stream: 'yes' }, 'stream'],
  ['another format of events', 'audio/speech', { model: 'test/speech', stream_format: 'events' }, 'stream_format'],
] as const) {
  test(`refused: ${title}: ${path}`, async () => {
    const url = `${stack.baseUrl}/v1/${path}`
    const whole = { model: 'test/image', prompt: 'x', input: 'x', ...body }
    const reply = await (path.endsWith('edits') ? postForm(url, apiKey, whole) : postJson(url, apiKey, whole))
    assert.equal(reply.status, 400, reply.text)
    assert.equal((JSON.parse(reply.text) as { error: { param: string } }).error.param, param)
  })
}

test('a request that the provider refuses is refused', async () => {
  assert.equal((await speak('test/speech-none')).status, 400)
})
