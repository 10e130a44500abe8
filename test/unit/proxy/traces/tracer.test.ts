// Goal: a request whose content is captured is exported once its answer has ended; whatever becomes of a request, the memory of its
// content is given back. Method: a queue that notes what it gets.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccessEntry } from '../../../../proxy/metrics/accessLog.ts'
import { ContentMemory } from '../../../../proxy/traces/content/contentMemory.ts'
import { TRACE_LIMITS } from '../../../../proxy/traces/limits.ts'
import type { TracedExchange } from '../../../../proxy/traces/requestTrace.ts'
import { SpanQueue } from '../../../../proxy/traces/spanQueue.ts'
import type { RawContent } from '../../../../proxy/traces/thread/content/rawContent.ts'
import { Tracer } from '../../../../proxy/traces/tracer.ts'

const BYTES = 1_000
const ENTRY = { status: 'ok', errorCode: null } as AccessEntry

function newTracer({ isSampled = true, spansMax = 10, captures = true } = {}) {
  const sent: (RawContent | null)[][] = []
  const queue = new SpanQueue({
    spansMax,
    batchSpansMax: 1,
    batchContentBytesMax: BYTES,
    delayMs: 60_000,
    stopMs: 60_000,
    send: (lines, contents) => {
      sent.push(lines.map((_, i) => contents[i] ?? null))
      return Promise.resolve({ rejectedSpans: 0 })
    },
    close: () => Promise.resolve(),
    onCount: () => undefined,
    outage: { failed: () => undefined, works: () => undefined },
  })
  const limits = { traceContentQueueBytesMax: BYTES, traceContentRawBytesMax: BYTES }
  const memory = new ContentMemory(limits, () => assert.fail('there is memory'))
  const tracer = new Tracer(() => isSampled, queue, TRACE_LIMITS, captures ? memory : undefined)
  return { tracer, sent, memory }
}

function newExchange(): TracedExchange & { readonly body: Buffer } {
  const head = { method: 'POST', path: '/v1/chat/completions' }
  return { id: 'req_1', startedAtMs: 1, arrivedAt: performance.now(), head, body: Buffer.from('{}') }
}

const turn = () => new Promise(setImmediate)

test('a request is exported when its answer has ended, with the whole of it', async () => {
  const { tracer, sent, memory } = newTracer()
  const exchange = newExchange()
  const content = tracer.contentOf(exchange) ?? assert.fail()
  content.note('begin')
  tracer.ended(exchange, ENTRY)
  await turn()
  assert.deepEqual(sent, [])
  content.note(' and end')
  content.close()
  await turn()
  assert.deepEqual(sent, [[{ input: '{}', output: 'begin and end', isCut: false }]])
  await tracer.stop()
  assert.ok(memory.take(BYTES))
})

test('content of requests that have no hold, or no room, is given back', async () => {
  for (const [spansMax, end] of [
    [10, (tracer: Tracer, exchange: TracedExchange) => tracer.refused(exchange, 402, 'insufficient_balance')],
    [0, (tracer: Tracer, exchange: TracedExchange) => tracer.ended(exchange, ENTRY)],
    // Its client has left before the hold was answered.
    [10, () => undefined],
  ] as const) {
    const { tracer, sent, memory } = newTracer({ spansMax })
    const exchange = newExchange()
    const content = tracer.contentOf(exchange) ?? assert.fail()
    end(tracer, exchange)
    content.close()
    await turn()
    await tracer.stop()
    assert.deepEqual(sent.flat().filter(Boolean), [])
    assert.ok(memory.take(BYTES), String(end))
  }
})

test('a refusal does not wait for an answer', async () => {
  const { tracer, sent } = newTracer()
  const exchange = newExchange()
  tracer.contentOf(exchange)
  tracer.refused(exchange, 400, 'invalid_request')
  await turn()
  assert.deepEqual(sent, [[null]])
})

test('there is no content where none is captured, or where the trace is not sampled', () => {
  assert.equal(newTracer({ captures: false }).tracer.contentOf(newExchange()), undefined)
  assert.equal(newTracer({ isSampled: false }).tracer.contentOf(newExchange()), undefined)
})
