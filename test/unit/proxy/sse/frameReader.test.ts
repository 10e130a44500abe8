import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FrameReader, type FrameSink } from '../../../../proxy/sse/frameReader.ts'
import { limits } from '../../../support/limits.ts'
import { searchedBytes } from '../../../support/searchedBytes.ts'

type Seen = ['data' | 'comment', string]

class Recorder implements FrameSink {
  readonly seen: Seen[] = []

  onData(bytes: Buffer, start: number, end: number): void {
    this.seen.push(['data', bytes.toString('utf8', start, end)])
  }

  onComment(bytes: Buffer, start: number, end: number): void {
    this.seen.push(['comment', bytes.toString('utf8', start, end)])
  }
}

function read(pieces: readonly Buffer[]): Seen[] {
  const reader = new FrameReader(limits)
  const recorder = new Recorder()
  for (const piece of pieces) assert.ok(reader.push(piece, recorder))
  reader.finish(recorder)
  return recorder.seen
}

/** The standard's algorithm on the whole text, line by line, but that an unfinished event is delivered at the end. */
function reference(text: string): Seen[] {
  const seen: Seen[] = []
  let data: string[] = []
  const dispatch = () => {
    if (data.length > 1 || (data.length === 1 && data[0] !== '')) seen.push(['data', data.join('\n')])
    data = []
  }
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    if (line === '') dispatch()
    else if (line.startsWith(':')) seen.push(['comment', line.slice(1)])
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
  }
  dispatch()
  return seen
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  const pieces: Buffer[] = []
  let from = 0
  for (const place of [...places, bytes.length]) {
    pieces.push(bytes.subarray(from, place))
    from = place
  }
  return pieces
}

const text = fc.string({
  unit: fc.constantFrom('a', '"', '\\', ' ', ':', 'é', '漢', '😀', '[DONE]', '\u2028'),
  maxLength: 12,
})
const line = fc.oneof(
  text.map((value) => `data: ${value}`),
  text.map((value) => `data:${value}`),
  text.map((value) => `:${value}`),
  fc.constantFrom('event: x', 'id: 1', 'retry: 5', 'data', 'dat', 'junk: 1', '', '', ''),
)
const stream = fc
  .tuple(
    fc.constantFrom('', '\uFEFF'),
    fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 }),
    fc.constantFrom('', 'data: tail', ': tail', 'data: half\n'),
  )
  .map(([bom, lines, tail]) => bom + lines.map(([content, end]) => content + end).join('') + tail)

test('frames are the same wherever the stream is split', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(4_000), { maxLength: 12 }), (source, cuts) => {
      assert.deepEqual(read(cutAt(Buffer.from(source), cuts)), reference(source))
    }),
    { numRuns: 3_000 },
  )
})

test('every single split position and byte-by-byte reading give the same frames', () => {
  const source =
    '\uFEFF: hi\r\n\r\ndata: {"a":"é[DONE]"}\r\n\r\ndata: one\rdata: two\r\rdata:x\n\n: c\ndata: [DONE]\n\n'
  const bytes = Buffer.from(source)
  const expected = reference(source)
  assert.equal(expected.length, 6)
  for (let at = 0; at <= bytes.length; at++) {
    assert.deepEqual(read([bytes.subarray(0, at), bytes.subarray(at)]), expected, `split at ${at}`)
  }
  assert.deepEqual(read(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))), expected)
})

test('a line of 1 MiB arrives whole, in small reads, without quadratic work', (t) => {
  const payload = 'x'.repeat(1_048_576)
  const bytes = Buffer.from(`data: ${payload}\n\ndata: next\n\n`)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 100) pieces.push(bytes.subarray(at, at + 100))
  const searched = searchedBytes(t, () => {
    assert.deepEqual(
      read(pieces).map(([kind, value]) => [kind, value.length]),
      [
        ['data', payload.length],
        ['data', 4],
      ],
    )
  })
  // Two kinds of line ends are looked for.
  assert.ok(searched < 3 * bytes.length, `${searched} of ${bytes.length} bytes were searched`)
})

test('an event beyond the bound is rejected instead of buffered', () => {
  const reader = new FrameReader({ ...limits, eventBytesMax: 1_000 })
  const recorder = new Recorder()
  assert.equal(reader.push(Buffer.from(`data: ${'x'.repeat(900)}`), recorder), true)
  assert.equal(reader.push(Buffer.from('x'.repeat(200)), recorder), false)
  assert.deepEqual(recorder.seen, [])
})
