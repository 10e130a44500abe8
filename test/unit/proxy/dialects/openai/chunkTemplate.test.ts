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

const PADDINGS: readonly (readonly [what: string, tail: string])[] = [
  ['without padding', ''],
  ['with padding', ',"obfuscation":"abc","usage":null'],
]
for (const [what, tail] of PADDINGS) {
  test(`a run of chunks ${what} ends with the last one that is whole, wherever the bytes of the stream end`, () => {
    const template = learned(chunkOf('a', tail))
    const events = ['b', 'c"d', '\\u00e9'].map((text) => `data: ${chunkOf(text.replace('"', '\\"'), tail)}\n\n`)
    const bytes = Buffer.from(events.join(''))
    const ends = events.map((_, i) => Buffer.byteLength(events.slice(0, i + 1).join('')))
    // The bytes after the end are left from an earlier read.
    for (let end = 'data: '.length; end <= bytes.length; end++) {
      const whole = ends.findLast((eventEnd) => eventEnd <= end) ?? -1
      const out = new OutBuffer()
      const runEnd = template.begins(bytes, 'data: '.length, end) ? template.appendRun(out, bytes, end, null) : -1
      assert.equal(runEnd, whole, `${end} of ${bytes.length} bytes`)
      const alone = ends
        .filter((eventEnd) => eventEnd <= end)
        .map((eventEnd, i) => eventOf(template, bytes, ends[i - 1] ?? 0, eventEnd))
      assert.equal(out.view().toString(), alone.join(''))
    }
  })
}

function eventOf(template: ChunkTemplate, bytes: Buffer, start: number, end: number): string {
  const out = new OutBuffer()
  assert.equal(template.match(bytes, start + 'data: '.length, end), end - '\n\n'.length)
  template.append(out, bytes)
  return out.view().toString()
}

test('a run ends before a chunk with other members, another text or none', () => {
  const template = learned(chunkOf('a', ''))
  const said = `data: ${chunkOf('b', '')}\n\n`
  for (const other of [
    chunkOf('c', ',"x":1'),
    chunkOf('', ''),
    chunkOf('\\q', ''),
    '{"choices":[]}',
    '[DONE]',
    chunkOf('c', ' '),
  ]) {
    const bytes = Buffer.from(`${said}${said}data: ${other}\n\n${said}`)
    const out = new OutBuffer()
    assert.ok(template.begins(bytes, 'data: '.length, bytes.length))
    assert.equal(template.appendRun(out, bytes, bytes.length, null), 2 * said.length, other)
    assert.deepEqual(
      [
        template.runChunks,
        template.runBytes,
        out
          .view()
          .toString()
          .match(/"content":"b"/g)?.length,
      ],
      [2, 2, 2],
    )
    assert.ok(out.view().toString().endsWith('}\n\n'))
  }
})
