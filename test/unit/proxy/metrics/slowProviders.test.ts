// Goal: a provider that becomes slow with a model, or fast again, is logged once, and few or old streams say nothing.
import assert from 'node:assert/strict'
import { mock, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { NO_USAGE } from '../../../../contract/money/charge.ts'
import { type EndedRequest, ModelMetrics } from '../../../../proxy/metrics/modelMetrics.ts'
import { SlowProviders } from '../../../../proxy/metrics/slowProviders.ts'

const LIMITS = { slowProviderMs: 2_500, slowProviderCheckMs: 30_000, slowProviderStreamsMin: 4 }
const ENDED: EndedRequest = {
  model: 'acme/large',
  provider: 'acme',
  key: '',
  operation: 'chat',
  status: 'ok',
  errorCode: null,
  usage: NO_USAGE,
  chargedUnits: 0,
  streamed: true,
  durationMs: 60_000,
  admissionMs: 1,
  firstByteMs: 0,
}

/** A watch with its lines, and a function that ends streams by their first tokens and lets an interval pass. */
function watch(t: TestContext) {
  mock.timers.enable({ apis: ['setInterval'] })
  const lines: Record<string, unknown>[] = []
  const models = new ModelMetrics({ metricSeriesMax: 100 })
  let nowMs = 0
  const write = (line: string): void => {
    const { event, provider, model, streams, slowStreams, outageMs } = JSON.parse(line) as Record<string, unknown>
    lines.push(
      JSON.parse(JSON.stringify({ event, provider, model, streams, slowStreams, outageMs })) as Record<string, unknown>,
    )
  }
  const slow = new SlowProviders(models.counts, pino({ base: null }, { write }), LIMITS, () => nowMs)
  t.after(() => {
    slow.stop()
    mock.timers.reset()
  })
  const pass = (firstTokensMs: readonly number[], changes: Partial<EndedRequest> = {}): void => {
    for (const firstByteMs of firstTokensMs) models.note({ ...ENDED, firstByteMs, ...changes })
    nowMs += LIMITS.slowProviderCheckMs
    mock.timers.tick(LIMITS.slowProviderCheckMs)
  }
  return { lines, pass }
}

const SLOW = { event: 'provider_slow', provider: 'acme', model: 'acme/large' }

test('a change of state is one line, whatever goes on after it', (t) => {
  const { lines, pass } = watch(t)
  pass([100, 100, 100, 100])
  pass([9_000, 9_000, 9_000, 100])
  for (let i = 0; i < 5; i++) pass([9_000, 9_000, 9_000, 9_000])
  assert.deepEqual(lines, [{ ...SLOW, streams: 4, slowStreams: 3 }])
  pass([100, 100, 100, 9_000])
  pass([100, 100, 100, 100])
  assert.deepEqual(lines.slice(1), [{ ...SLOW, event: 'provider_recovered', outageMs: 180_000 }])
})

test('the bound itself is not slow, nor are half of the streams', (t) => {
  const { lines, pass } = watch(t)
  pass([2_500, 2_500, 2_500, 2_500])
  pass([2_501, 2_501, 100, 100])
  assert.deepEqual(lines, [])
  pass([2_501, 2_501, 2_501, 100])
  assert.equal(lines.length, 1)
})

test('few streams are judged together with those of the next intervals', (t) => {
  const { lines, pass } = watch(t)
  pass([9_000, 9_000, 9_000])
  assert.deepEqual(lines, [])
  pass([9_000])
  assert.deepEqual(lines, [{ ...SLOW, streams: 4, slowStreams: 4 }])
  pass([])
  assert.equal(lines.length, 1)
})

test('streams of several keys and operations count together, those of another model or provider apart', (t) => {
  const { lines, pass } = watch(t)
  pass([9_000, 9_000], { key: 'one' })
  pass([9_000, 9_000], { key: 'two', operation: 'messages' })
  assert.deepEqual(lines, [{ ...SLOW, streams: 4, slowStreams: 4 }])
  pass([100, 100, 100, 100], { model: 'acme/small' })
  pass([9_000, 9_000, 9_000, 9_000], { provider: 'other' })
  assert.deepEqual(lines.slice(1), [{ ...SLOW, provider: 'other', streams: 4, slowStreams: 4 }])
})

test('answers in one piece, and requests that no provider answered, say nothing', (t) => {
  const { lines, pass } = watch(t)
  pass([9_000, 9_000, 9_000, 9_000], { streamed: false })
  pass([9_000, 9_000, 9_000, 9_000], { provider: '' })
  assert.deepEqual(lines, [])
})
