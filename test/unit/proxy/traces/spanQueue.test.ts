// Goal: however long a receiver takes, the spans that wait have a bound, one export runs at a time, every span is counted once,
// and a process that stops does not wait longer than its bound.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ContentMemory } from '../../../../proxy/traces/content/contentMemory.ts'
import { RequestContent } from '../../../../proxy/traces/content/requestContent.ts'
import { SpanQueue, type SpanQueueOptions } from '../../../../proxy/traces/spanQueue.ts'
import type { RawContent } from '../../../../proxy/traces/thread/content/rawContent.ts'
import type { ExportResult } from '../../../../proxy/traces/thread/exportTask.ts'
import { until } from '../../../support/until.ts'

type SeeContents = (contents: readonly (RawContent | null)[]) => void

/** A queue, whose exports end when the test says so. */
function newQueue({ onContents, ...options }: Partial<SpanQueueOptions> & { onContents?: SeeContents } = {}) {
  const counts = { exported: 0, dropped: 0, failed: 0 }
  const exports: { readonly lines: readonly string[]; readonly end: (result: ExportResult | Error) => void }[] = []
  const outages: string[] = []
  let running = 0
  const queue = new SpanQueue({
    spansMax: 10,
    batchSpansMax: 4,
    batchContentBytesMax: 100,
    delayMs: 60_000,
    stopMs: 60_000,
    send: (lines, contents) => {
      onContents?.(contents)
      assert.equal(++running, 1)
      return new Promise((resolve, reject) => {
        const end = (result: ExportResult | Error): void => {
          running--
          if (result instanceof Error) reject(result)
          else resolve(result)
        }
        exports.push({ lines, end })
      })
    },
    close: () => Promise.resolve(),
    onCount: (outcome, spans) => {
      counts[outcome] += spans
    },
    outage: { failed: (_, error) => outages.push(String(error)), works: () => outages.push('works') },
    ...options,
  })
  const offer = (line: string, spans = 1): void => {
    if (queue.hasRoom(spans)) queue.add(line, spans)
    else queue.drop(spans)
  }
  return { queue, counts, exports, outages, offer }
}

const TAKEN: ExportResult = { rejectedSpans: 0 }

test('spans beyond the bound are dropped and counted while a receiver takes none', async () => {
  const { queue, counts, exports, offer } = newQueue()
  for (let i = 0; i < 1_000; i++) offer(`${i}`)
  assert.deepEqual(counts, { exported: 0, dropped: 990, failed: 0 })
  assert.deepEqual(exports[0]?.lines, ['0', '1', '2', '3'])
  exports[0]?.end(TAKEN)
  await until('the next export', () => exports.length === 2)
  assert.deepEqual(exports[1]?.lines, ['4', '5', '6', '7'])
  // The export that has ended left room for its four spans.
  for (let i = 0; i < 10; i++) offer('more')
  assert.deepEqual(counts, { exported: 4, dropped: 996, failed: 0 })
  const stopped = queue.stop()
  for (let i = 1; i < 4; i++) {
    await until(`export ${i}`, () => exports.length > i)
    exports[i]?.end(TAKEN)
  }
  await stopped
  assert.deepEqual(counts, { exported: 14, dropped: 996, failed: 0 })
})

test('a request of many spans is exported whole, or dropped whole', async () => {
  const { queue, counts, exports, offer } = newQueue()
  offer('large', 9)
  offer('larger', 2)
  assert.deepEqual([exports[0]?.lines, counts.dropped], [['large'], 2])
  exports[0]?.end({ rejectedSpans: 3 })
  await queue.stop()
  assert.deepEqual(counts, { exported: 6, dropped: 2, failed: 3 })
})

test('an export has content within its bound, which is given back however it ends', async () => {
  const limits = { traceContentQueueBytesMax: 1_000, traceContentRawBytesMax: 1_000 }
  const memory = new ContentMemory(limits, () => assert.fail())
  const sent: (readonly (RawContent | null)[])[] = []
  const { queue, exports, offer } = newQueue({ spansMax: 100, batchSpansMax: 100, onContents: (all) => sent.push(all) })
  const contents = [60, 50, 150, 10].map((length) => new RequestContent(memory, Buffer.alloc(length, 'a')))
  for (const content of contents) queue.add('line', 1, content)
  offer('no content')
  const ends: (ExportResult | Error)[] = [TAKEN, new Error('the thread died'), { rejectedSpans: 0, failure: 'no' }]
  for (const [i, result] of ends.entries()) {
    await until(`export ${i}`, () => exports.length > i)
    exports[i]?.end(result)
    if (i === 1) void queue.stop()
  }
  await until('the last export', () => exports.length === ends.length + 1)
  exports.at(-1)?.end(TAKEN)
  await queue.stop()
  assert.deepEqual(
    sent.map((all) => all.map((one) => one?.input.length ?? null)),
    [[60], [50], [150], [10, null]],
  )
  assert.ok(memory.take(1_000))
})

test('few spans are exported after the delay', async () => {
  const { queue, exports, offer } = newQueue({ delayMs: 10 })
  offer('one')
  await until('its export', () => exports.length === 1)
  offer('two')
  exports[0]?.end(TAKEN)
  await until('the next export', () => exports.length === 2)
  exports[1]?.end(TAKEN)
  await queue.stop()
})

test('an export that fails counts its spans, and the next one is tried', async () => {
  const { queue, counts, exports, outages, offer } = newQueue({ batchSpansMax: 1 })
  for (let i = 0; i < 3; i++) offer(`${i}`)
  exports[0]?.end(new Error('the thread died'))
  await until('the second export', () => exports.length === 2)
  exports[1]?.end({ rejectedSpans: 0, failure: 'status 400' })
  await until('the third export', () => exports.length === 3)
  exports[2]?.end(TAKEN)
  await queue.stop()
  assert.deepEqual(counts, { exported: 1, dropped: 0, failed: 2 })
  assert.deepEqual(outages, ['Error: the thread died', 'Error: status 400', 'works'])
})

test('a process that stops waits no longer than its bound, and counts what it leaves', async () => {
  const { queue, counts, offer } = newQueue({ stopMs: 20 })
  for (let i = 0; i < 7; i++) offer(`${i}`)
  await queue.stop()
  assert.deepEqual(counts, { exported: 0, dropped: 3, failed: 0 })
})
