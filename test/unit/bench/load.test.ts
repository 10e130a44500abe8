import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EventCounter } from '../../../bench/load/eventCounter.ts'
import { Samples } from '../../../bench/load/samples.ts'
import { HttpReader } from '../../../control/load/httpReader.ts'

const STREAM = `data: {"a":1}\n\n: receipt {"x":"data: "}\n\ndata: {"b":"[DONE]"}\n\ndata: [DONE]\n\n`
const RESPONSES = [
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${STREAM.length.toString(16)}\r\n${STREAM}\r\n3\r\nabc\r\n0\r\n\r\n`,
  'HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
]

/** Cuts bytes at the given places. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

test('responses are read the same wherever they are split', () => {
  const bytes = Buffer.from(RESPONSES.join(''))
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 40 }), (cuts) => {
      const statuses: number[] = []
      const bodies: string[] = []
      let body = ''
      const reader = new HttpReader({
        onHead: (status) => statuses.push(status),
        onBody: (part, start, end) => {
          body += part.toString('utf8', start, end)
        },
        onEnd: () => {
          bodies.push(body)
          body = ''
        },
      })
      for (const piece of pieces(bytes, cuts)) reader.push(piece, piece.length)
      assert.deepEqual(statuses, [200, 404, 200])
      assert.deepEqual(bodies, [`${STREAM}abc`, 'hello', ''])
    }),
  )
})

test('events are counted the same wherever the stream is split', () => {
  const bytes = Buffer.from(STREAM)
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 40 }), (cuts) => {
      const counter = new EventCounter()
      for (const piece of pieces(bytes, cuts)) counter.push(piece, 0, piece.length)
      assert.deepEqual([counter.dataEvents, counter.comments, counter.done], [3, 1, true])
    }),
  )
})

test('a stream that continues after [DONE] or lacks it is not done', () => {
  for (const text of ['data: [DONE]\n\ndata: {}\n\n', 'data: {}\n\n', 'data: [NONE]\n\n']) {
    const counter = new EventCounter()
    for (const byte of Buffer.from(text)) counter.push(Buffer.from([byte]), 0, 1)
    assert.equal(counter.done, false, text)
  }
})

test('quantiles equal those of the samples', () => {
  const samples = new Samples()
  for (let i = 10_000; i > 0; i--) samples.add(i)
  const { p50, p99, p999, min, max, count } = samples.quantiles()
  assert.deepEqual([min, p50, p99, p999, max, count], [1, 5_001, 9_901, 9_991, 10_000, 10_000])
})
