// Goal: a request comes to the same for its provider, its size and its refusals, whether its images and documents were read or
// only checked. Method: requests of every format, with data in every place and spelling, are read in both ways.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { longStringsIn } from '../../../../../contract/std/jsonDepth.ts'
import type { Model } from '../../../../../proxy/catalog/catalog.ts'
import type { Provider, Route } from '../../../../../proxy/catalog/pricedItem.ts'
import { type ChatSurface, codecOf, type SurfaceName } from '../../../../../proxy/dialects/shared/codec.ts'
import { readSmallBody, type SmallBody } from '../../../../../proxy/endpoints/chat/smallBody.ts'
import { SmallSource } from '../../../../../proxy/endpoints/chat/source.ts'
import { SURFACES } from '../../../../../proxy/endpoints/largeBodies/tasks/surfaces.ts'
import { conversationOf } from '../../../../../proxy/endpoints/run/affinity.ts'
import { limits } from '../../../../support/limits.ts'
import { testProvider } from '../../../../support/parts/runWorld.ts'
import { rounds } from '../../../../support/rounds.ts'

const AT_ONCE_BYTES = 16_384
const WITH_DATA_BYTES = 1_048_576
const bounds = { limits, atOnceBytesMax: AT_ONCE_BYTES, withDataBytesMax: WITH_DATA_BYTES }
const wholeBounds = { limits, atOnceBytesMax: WITH_DATA_BYTES, withDataBytesMax: 0 }

const SYSTEM_FIRST = {
  omit: [],
  extra: [],
  thinking: '',
  systemFirst: true,
  developerAsSystem: false,
  callIdCharacters: 9,
  stopSequencesMax: 0,
  refusesStreamOptions: true,
}

const PNG = 'iVBORw0KGgo/'
const plain = (characters: number): string => PNG.repeat(Math.ceil(characters / PNG.length)).slice(0, characters)
const LARGE = plain(20_000)

/** What a provider of a dialect is sent. */
function sent(read: SmallBody, surface: ChatSurface, provider: Provider, pdfTokens: number): unknown {
  const model = { id: 'm', thinking: 'none', pricesHour: false, maxOutput: 1_000, pdfTokens } as unknown as Model
  const codec = codecOf(surface, provider.dialect)
  const source = new SmallSource(read)
  const route = { provider, upstreamModel: 'up' } as Route
  const bodies = [1, 2].map(() => {
    const { body } = codec.ask(read.request, 'req_A', model, source.print(provider, codec, model)).make(route, 100)
    return JSON.parse(typeof body === 'string' ? body : Buffer.concat(body).toString())
  })
  assert.deepEqual(bodies[1], bodies[0], 'a second provider gets the same')
  return bodies[0]
}

function all(read: SmallBody, surface: ChatSurface): unknown {
  const { dataMarks: _marks, ...prompt } = read.request.prompt
  const providers: readonly Provider[] = [
    testProvider,
    { ...testProvider, dialect: 'anthropic' as const },
    { ...testProvider, form: SYSTEM_FIRST },
  ]
  const served = providers.filter(({ dialect }) => surface.codecs[dialect] !== null)
  return {
    prompt,
    conversation: conversationOf(read.request.native ?? read.request.forward),
    sent: served.flatMap((provider) => [0, 1_000].map((tokens) => sent(read, surface, provider, tokens))),
  }
}

/** The result of a body, or its refusal; null where another thread has to read it. */
function outcome(body: Buffer, surface: ChatSurface, by: typeof bounds): unknown {
  try {
    const read = readSmallBody(body, surface, by)
    return read === undefined ? null : all(read, surface)
  } catch (error) {
    if (error instanceof GatewayError) return { row: error.row, message: error.message }
    throw error
  }
}

const isRead = (body: Buffer, surface: ChatSurface): boolean => readSmallBody(body, surface, bounds)?.data != null

const requestOf: Readonly<Record<SurfaceName, (parts: unknown[]) => object>> = {
  chat: (parts) => ({ model: 'acme/m', messages: [{ role: 'user', content: parts }] }),
  messages: (parts) => ({ model: 'acme/m', max_tokens: 9, messages: [{ role: 'user', content: parts }] }),
  responses: (parts) => ({ model: 'acme/m', input: [{ role: 'user', content: parts }] }),
  compact: (parts) => ({ model: 'acme/m', input: [{ role: 'user', content: parts }] }),
  completions: (parts) => ({ model: 'acme/m', prompt: JSON.stringify(parts) }),
}

const partsOf = (data: string, type: string, name: string): Readonly<Record<string, unknown[]>> => ({
  chat: [
    { type: 'image_url', image_url: { url: `data:${type};base64,${data}`, detail: 'low' } },
    { type: 'image_url', image_url: `data:${type};base64,${data}` },
    { type: 'file', file: { filename: name, file_data: `data:${type};base64,${data}` } },
    { type: 'text', text: `data:${type};base64,${data}` },
    { type: 'text', text: data, data },
    { type: 'image_url', image_url: { url: 'https://images.test/a.png' } },
  ],
  messages: [
    { type: 'image', source: { type: 'base64', media_type: type, data } },
    { type: 'image', source: { type: 'url', url: `data:${type};base64,${data}` } },
    { type: 'document', source: { type: 'base64', media_type: type, data }, title: name },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data } },
    { type: 'text', text: data },
    { type: 'image', source: { type: 'base64', media_type: type, data, data2: data } },
    { type: 'tool_use', id: 'a', name: 'f', input: { data } },
    {
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'image', source: { type: 'base64', media_type: type, data } }],
    },
  ],
  responses: [
    { type: 'input_image', image_url: `data:${type};base64,${data}` },
    { type: 'input_file', filename: name, file_data: `data:${type};base64,${data}` },
    { type: 'input_text', text: data },
    { type: 'input_text', text: 'short', data },
  ],
})

const DATA = [
  plain(2_500),
  plain(2_501),
  `${plain(2_500)}AA==`,
  plain(3_000).replaceAll('/', '_').replaceAll('o', '-'),
  `${plain(2_500)}\n${plain(2_500)}`,
  `${plain(2_500)} ${plain(2_499)}`,
  `${plain(2_500)}%2F${plain(2_497)}`,
  `${plain(2_500)}"\\u${plain(2_500)}`,
  `${plain(2_500)}ü漢${plain(2_500)}`,
  `${plain(2_500)}!?${plain(2_498)}`,
  plain(300),
  ...Array.from({ length: 8 }, () => LARGE),
]
const TYPES = [
  'image/png',
  'image/png',
  'image/png',
  'image/jpg',
  'application/octet-stream',
  'application/pdf',
  'text/plain',
  'image/tiff',
]

/** A request whose turn is over: what cannot be served is left out of it. */
function inHistory(request: object): object {
  const later = [
    { role: 'assistant', content: 'a' },
    { role: 'user', content: 'go on' },
  ]
  return Object.fromEntries(
    Object.entries(request).map(([name, value]) => [name, Array.isArray(value) ? [...value, ...later] : value]),
  )
}

/** JSON as clients write it: with blanks, and slashes escaped as PHP does. */
function written(value: object, space: string, escapesSlashes: boolean): Buffer {
  const text = JSON.stringify(value, null, space)
  return Buffer.from(escapesSlashes ? text.replaceAll('/', '\\/') : text)
}

test('requests come to the same with data that is read and with data that is only checked', () => {
  let cut = 0
  const name = fc.constantFrom<SurfaceName>('chat', 'messages', 'responses', 'compact', 'completions')
  const index = fc.nat({ max: 99 })
  fc.assert(
    fc.property(
      name,
      fc.array(fc.tuple(index, fc.constantFrom(...DATA), fc.constantFrom(...TYPES)), { minLength: 1, maxLength: 3 }),
      fc.tuple(fc.constantFrom('', ' ', '\t'), fc.boolean()),
      fc.constantFrom('', 'x', 'Zeile "eins" ü\n'.repeat(300)),
      fc.boolean(),
      (surfaceName, picks, [space, escapesSlashes], beside, isOld) => {
        const parts = picks.map(([i, data, type]) => {
          const those = partsOf(data, type, 'file name')
          const kinds = those[surfaceName] ?? those['responses'] ?? []
          return kinds[i % kinds.length]
        })
        const text = surfaceName === 'chat' || surfaceName === 'messages' ? 'text' : 'input_text'
        const request = requestOf[surfaceName]([...parts, ...(beside === '' ? [] : [{ type: text, text: beside }])])
        const body = written(isOld ? inHistory(request) : request, space, escapesSlashes)
        const surface = SURFACES[surfaceName]
        const there = outcome(body, surface, bounds)
        if (there === null) return
        assert.deepEqual(there, outcome(body, surface, wholeBounds))
        if (!('row' in (there as object)) && isRead(body, surface)) cut++
      },
    ),
    { numRuns: rounds({ short: 1_000, long: 10_000 }) },
  )
  assert.ok(cut > 20, `${cut} requests had data that was not read`)
})

test('images and documents are not read where they are alone', () => {
  for (const [surface, kinds] of Object.entries({ chat: [0, 1, 2], messages: [0, 1, 2, 7], responses: [0, 1] })) {
    for (const kind of kinds) {
      const isDocument = kind === 2 || (surface === 'responses' && kind === 1)
      const parts = partsOf(LARGE, isDocument ? 'application/pdf' : 'image/png', 'n')[surface] ?? []
      for (const escapesSlashes of [false, true]) {
        const body = written(requestOf[surface as SurfaceName]([parts[kind]]), ' ', escapesSlashes)
        assert.ok(body.length > AT_ONCE_BYTES && isRead(body, SURFACES[surface as SurfaceName]), `${surface} ${kind}`)
      }
    }
  }
})

test('data is read where it is text, a member that is dropped, or twice under one name', () => {
  const cases: readonly [SurfaceName, string][] = [
    ['chat', JSON.stringify(requestOf.chat([{ type: 'text', text: `data:image/png;base64,${LARGE}` }]))],
    ['chat', JSON.stringify({ ...requestOf.chat([{ type: 'text', text: 'a' }]), data: LARGE })],
    ['chat', JSON.stringify({ ...requestOf.chat([{ type: 'text', text: 'a' }]), metadata: { data: LARGE } })],
    [
      'messages',
      JSON.stringify(requestOf.messages([{ type: 'tool_use', id: 'a', name: 'f', input: { data: LARGE } }])),
    ],
    [
      'messages',
      JSON.stringify(requestOf.messages([partsOf(LARGE, 'image/png', '')['messages']?.[0]])).replace(
        '"data":',
        `"data":"${LARGE}","data":`,
      ),
    ],
    ['compact', JSON.stringify(requestOf.compact([partsOf(LARGE, 'image/png', '')['responses']?.[0]]))],
  ]
  for (const [surface, text] of cases) assert.ok(!isRead(Buffer.from(text), SURFACES[surface]), text.slice(0, 200))
})

test('control characters, broken UTF-8 and other escapes are refused as in a body that is read whole', () => {
  const [part] = partsOf(LARGE, 'image/png', '')['chat'] ?? []
  const text = JSON.stringify(requestOf.chat([part]))
  const middle = text.indexOf(LARGE) + LARGE.length / 2
  const faults: readonly Buffer[] = [
    ...Array.from({ length: 32 }, (_, byte) => Buffer.from([byte])),
    Buffer.from([0x80]),
    Buffer.from([0xc0, 0xa2]),
    Buffer.from([0xff]),
    Buffer.from('\\x'),
    Buffer.from('\\u12'),
    Buffer.from('"'),
  ]
  for (const fault of faults) {
    for (let shift = 0; shift < 9; shift++) {
      const at = middle + shift
      const body = Buffer.concat([Buffer.from(text.slice(0, at)), fault, Buffer.from(text.slice(at + fault.length))])
      assert.ok(!isRead(body, SURFACES.chat), `${fault.toString('hex')} at ${shift}`)
      const result = outcome(body, SURFACES.chat, wholeBounds) as { row?: string }
      assert.equal(result.row, 'invalid_request', `${fault.toString('hex')} at ${shift}`)
    }
  }
})

test('the bounds of a body apply to what is read of it, and to all of it', () => {
  const image = partsOf(LARGE, 'image/png', '')['chat']?.[0]
  const bodyOf = (parts: unknown[]) => Buffer.from(JSON.stringify(requestOf.chat(parts)))
  const { chat } = SURFACES
  assert.equal(readSmallBody(bodyOf([image]), chat, { ...bounds, withDataBytesMax: 0 }), undefined)
  assert.equal(readSmallBody(bodyOf([image]), chat, { ...bounds, withDataBytesMax: LARGE.length }), undefined)
  const texts = Array.from({ length: 20 }, () => ({ type: 'text', text: 'word '.repeat(200) }))
  assert.equal(readSmallBody(bodyOf([image, ...texts]), chat, bounds), undefined, 'the rest is large')
  const many = Array.from(
    { length: limits.cutStringsMax + 1 },
    () => partsOf(plain(2_500), 'image/png', '')['chat']?.[0],
  )
  const shortBounds = { ...bounds, limits: { ...limits, imagesMax: 1_000 } }
  assert.equal(readSmallBody(bodyOf(many), chat, shortBounds), undefined, 'too many pieces')
  const deep = Buffer.from(`${'['.repeat(200)}"${LARGE}"`)
  assert.equal(readSmallBody(deep, chat, bounds), undefined, 'the thread tells how deep it is')
  const others = ['1,', '{},', `"${'w'.repeat(1_000)}",`, ' '].map((other) =>
    other.repeat(AT_ONCE_BYTES / other.length),
  )
  for (const other of others) {
    const bytes = Buffer.from(`["${LARGE}",${other}`)
    assert.deepEqual(longStringsIn(bytes, 9, bytes.length), [{ start: 2, end: 2 + LARGE.length }])
    assert.equal(longStringsIn(bytes, 9, AT_ONCE_BYTES - 1_100), null, `the search ends within ${other.slice(0, 9)}`)
  }
})
