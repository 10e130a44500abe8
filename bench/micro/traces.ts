import assert from 'node:assert/strict'
import type { Bench } from 'tinybench'
import { newId } from '../../contract/wire/ids.ts'
import type { AccessEntry } from '../../proxy/metrics/accessLog.ts'
import type { Exchange } from '../../proxy/server/exchange.ts'
import { TRACE_LIMITS } from '../../proxy/traces/limits.ts'
import type { TracedExchange } from '../../proxy/traces/requestTrace.ts'
import { samplerOf } from '../../proxy/traces/sampler.ts'
import { SpanQueue } from '../../proxy/traces/spanQueue.ts'
import { encodeSpans } from '../../proxy/traces/thread/exportSpans.ts'
import { Tracer } from '../../proxy/traces/tracer.ts'

const BATCH_SPANS = 512
const target = { provider: 'acme', key: 'default', model: 'acme-small-2026', origin: 'https://api.acme.example' }
const entry: AccessEntry = {
  requestId: newId('req'),
  accountId: newId('acct'),
  keyId: newId('key'),
  model: 'acme/chat-small',
  provider: 'acme',
  key: 'default',
  operation: 'chat',
  status: 'ok',
  errorCode: null,
  usage: { input: 812, cachedInput: 188, cacheWrite5m: 0, cacheWrite1h: 0, output: 101, reasoning: 0 },
  chargedUnits: 196_500,
  holdUnits: 1_000_000,
  tries: 1,
  streamed: true,
  durationMs: 1_204,
  admissionMs: 0.21,
  firstByteMs: 310,
}
const head = { method: 'POST', path: '/v1/chat/completions', traceParent: '', traceState: '' }

function newExchange(): Exchange {
  const exchange: TracedExchange = {
    id: entry.requestId,
    startedAtMs: Date.now(),
    arrivedAt: performance.now(),
    head,
    route: head.path,
    trace: undefined,
  }
  return exchange as Exchange
}

/** A tracer whose exports end immediately. */
function newTracer(ratio: number, onBatch: (lines: readonly string[]) => void): Tracer {
  const queue = new SpanQueue({
    spansMax: 65_536,
    batchSpansMax: BATCH_SPANS,
    batchContentBytesMax: TRACE_LIMITS.traceContentBatchBytesMax,
    delayMs: 10,
    stopMs: 0,
    send: (lines) => {
      onBatch(lines)
      return Promise.resolve({ rejectedSpans: 0 })
    },
    close: () => Promise.resolve(),
    onCount: () => undefined,
    outage: { failed: () => undefined, works: () => undefined },
  })
  return new Tracer(samplerOf('traceidratio', ratio), queue, TRACE_LIMITS)
}

/** A request with one attempt, on the loop of a worker. */
function trace(tracer: Tracer): void {
  const exchange = newExchange()
  const attempt = tracer.of(exchange).begin(target)
  attempt.status = 200
  attempt.endMs = 1_200
  tracer.ended(exchange, entry)
}

/** Adds the benches of traces: the part of a worker's loop by what is sampled, and the part of the thread that exports. */
export async function addTraces(bench: Bench): Promise<void> {
  let batch: readonly string[] = []
  const full = newTracer(1, (lines) => {
    batch = lines
  })
  for (let i = 0; i < BATCH_SPANS / 2; i++) trace(full)
  await new Promise(setImmediate)
  assert.equal(batch.length, BATCH_SPANS / 2)
  const records = `[${batch.join(',')}]`
  const task = {
    records,
    contents: [],
    contentBytesMax: TRACE_LIMITS.traceContentBytesMax,
    resource: [['service.name', 'sluice']],
    version: '0',
    scheme: 'http',
  } as const
  assert.ok(encodeSpans(task).length > 0)
  bench.add('a request without a trace (the stand-in for a request alone)', () => {
    newExchange()
  })
  for (const [name, ratio] of [
    ['1 %', 0.01],
    ['100 %', 1],
  ] as const) {
    const tracer = ratio === 1 ? full : newTracer(ratio, () => undefined)
    // Turns of the loop have some requests each, whose records are made at their end.
    bench.add(`64 requests with a trace, ${name} of them sampled`, async () => {
      for (let i = 0; i < 64; i++) trace(tracer)
      await new Promise(setImmediate)
    })
  }
  bench.add(`export of ${BATCH_SPANS / 2} requests, in its thread`, () => {
    encodeSpans(task)
  })
}
