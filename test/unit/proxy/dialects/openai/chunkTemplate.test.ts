import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChunkScan } from '../../../../../proxy/dialects/openai/chunkScan.ts'
import { ChunkTemplate } from '../../../../../proxy/dialects/openai/chunkTemplate.ts'
import { chunkIdentity } from '../../../../../proxy/dialects/openai/rewrite.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'

const IDENTITY = chunkIdentity('req_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'acme/chat-small', 0)

const chunkOf = (text: string, rest: string): string =>
  `{"id":"up","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"${text}"}}]${rest}}`

function learned(json: string): ChunkTemplate {
  const bytes = Buffer.from(json)
  const scan = new ChunkScan()
  assert.ok(scan.scan(bytes, 0, bytes.length))
  const template = new ChunkTemplate()
  template.learn(bytes, 0, bytes.length, scan, IDENTITY, true)
  return template
}

/** The chunk as its client gets it; null where the template does not match all of it. */
function appended(template: ChunkTemplate, json: string): unknown {
  const bytes = Buffer.from(json)
  if (template.match(bytes, 0, bytes.length) !== bytes.length) return null
  const out = new OutBuffer()
  template.append(out, bytes)
  return JSON.parse(out.view().toString().slice('data: '.length))
}

const TAILS: readonly (readonly [what: string, tail: (padding: string) => string])[] = [
  ['without padding', () => ''],
  ['with padding at their end', (padding) => `,"obfuscation":"${padding}"`],
  ['with padding before a usage of null', (padding) => `,"obfuscation":"${padding}","usage":null`],
  ['with padding after a usage of null', (padding) => `,"usage":null,"obfuscation":"${padding}"`],
]
for (const [what, tail] of TAILS) {
  test(`chunks ${what} match whatever their text and padding are`, () => {
    const template = learned(chunkOf('a', tail('abc')))
    for (const [text, padding] of [
      ['b', 'd'],
      ['longer', ''],
      ['\\n', '\\u0041x'],
    ] as const) {
      const { usage: _dropped, ...whole } = JSON.parse(chunkOf(text, tail(padding))) as Record<string, unknown>
      const expected = { ...whole, id: IDENTITY.requestId, model: 'acme/chat-small' }
      assert.deepEqual(appended(template, chunkOf(text, tail(padding))), expected)
    }
  })
}

const OTHERS = ['"a"', '"a","x":1', '"a', 'null', '"\u0001"', '"\\q"', '"a"}{"b":"', '"a" ']
for (const other of OTHERS) {
  test(`a chunk whose padding is ${JSON.stringify(other)} and not text alone does not match`, () => {
    const template = learned(chunkOf('a', ',"obfuscation":"abc","usage":null'))
    assert.equal(appended(template, chunkOf('b', `,"obfuscation":${other}`)), null)
  })
}

test('a padding before the text is a part of what has to be the same', () => {
  const before = (padding: string) => `{"obfuscation":"${padding}","choices":[{"index":0,"delta":{"content":"x"}}]}`
  const template = learned(before('abc'))
  assert.equal(appended(template, before('abcd')), null)
  assert.notEqual(appended(template, before('abc')), null)
})
