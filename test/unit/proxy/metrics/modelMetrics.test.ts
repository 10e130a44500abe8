// Goal: the number of series is bounded whatever is counted, over workers and their successors too, and nothing that was
// counted is missing from the sums.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Exposition } from '../../../../contract/std/exposition.ts'
import {
  addModels,
  type EndedRequest,
  labelsOf,
  type ModelCounts,
  ModelMetrics,
} from '../../../../proxy/metrics/modelMetrics.ts'
import { writeModels } from '../../../../proxy/supervisor/modelFamilies.ts'

const BOUND = { metricSeriesMax: 5 }
const OPERATIONS = ['chat', 'embeddings']

const usage = { input: 10, cachedInput: 4, cacheWrite5m: 3, cacheWrite1h: 2, output: 21, reasoning: 5 }
const usual: EndedRequest = {
  model: 'acme/one',
  provider: 'acme',
  key: 'k1',
  operation: 'chat',
  status: 'ok',
  errorCode: null,
  usage,
  chargedUnits: 7,
  streamed: true,
  durationMs: 1_100,
  admissionMs: 20,
  firstByteMs: 100,
}

const ended: fc.Arbitrary<EndedRequest> = fc.record({
  model: fc.oneof(fc.constantFrom('a', 'b'), fc.string()),
  provider: fc.constantFrom('p', 'q', ''),
  key: fc.constantFrom('', 'k'),
  operation: fc.constantFrom(...OPERATIONS),
  status: fc.constantFrom('ok' as const, 'partial' as const, 'failed' as const),
  errorCode: fc.constantFrom(null, 'stream_interrupted'),
  usage: fc.constant(usage),
  chargedUnits: fc.nat(1_000),
  streamed: fc.boolean(),
  durationMs: fc.nat(100_000),
  admissionMs: fc.nat(10),
  firstByteMs: fc.nat(1_000),
})

const sum = (counts: ModelCounts, read: (series: ModelCounts[string]) => number): number =>
  Object.values(counts).reduce((all, series) => all + read(series), 0)
const durationsIn = ({ duration, failedDuration }: ModelCounts[string]): number =>
  [duration, ...Object.values(failedDuration)].flatMap(({ counts }) => counts).reduce((a, b) => a + b)
const requestsIn = (counts: ModelCounts): number =>
  sum(counts, ({ requests }) => Object.values(requests).reduce((all, count) => all + count, 0))

test('the series are bounded, and their sums are all that was counted', () => {
  fc.assert(
    fc.property(fc.array(fc.array(ended, { maxLength: 30 }), { minLength: 1, maxLength: 4 }), (workers) => {
      const total: ModelCounts = {}
      for (const requests of workers) {
        const metrics = new ModelMetrics(BOUND)
        for (const request of requests) metrics.note(request)
        assert.equal(requestsIn(metrics.counts), requests.length)
        // As it comes from another process.
        addModels(total, JSON.parse(JSON.stringify(metrics.counts)) as ModelCounts, BOUND)
      }
      const all = workers.flat()
      assert.ok(Object.keys(total).length <= BOUND.metricSeriesMax + OPERATIONS.length)
      assert.equal(requestsIn(total), all.length)
      assert.equal(
        sum(total, ({ chargedUnits }) => chargedUnits),
        all.reduce((units, { chargedUnits }) => units + chargedUnits, 0),
      )
      assert.equal(sum(total, durationsIn), all.length)
    }),
  )
})

test('a million models leave a bounded number of series', () => {
  const metrics = new ModelMetrics(BOUND)
  for (let i = 0; i < 1_000_000; i++) metrics.note({ ...usual, model: `m${i}` })
  const labels = Object.keys(metrics.counts).map(labelsOf)
  assert.equal(labels.length, BOUND.metricSeriesMax + 1)
  assert.deepEqual(labels.at(-1), { model: 'other', provider: 'other', key: 'other', operation: 'chat' })
  assert.equal(requestsIn(metrics.counts), 1_000_000)
})

/** The lines of a text that begin so. */
const linesOf = (counts: ModelCounts, start: string): string[] => {
  const out = new Exposition()
  writeModels(out, counts)
  return out.text.split('\n').filter((line) => line.startsWith(start))
}

test('types of tokens, times and units have their own samples', () => {
  const metrics = new ModelMetrics(BOUND)
  metrics.note(usual)
  const labels = 'model="acme/one",provider="acme",key="k1",operation="chat"'
  const gen = 'gen_ai_operation_name="chat",gen_ai_provider_name="acme",gen_ai_request_model="acme/one"'
  const { counts } = metrics
  assert.deepEqual(
    linesOf(counts, 'sluice_model_tokens_total').map((line) => line.replace(`${labels},`, '')),
    [
      ['input', 10],
      ['cached_input', 4],
      ['cache_write_5m', 3],
      ['cache_write_1h', 2],
      ['output', 21],
      ['reasoning', 5],
    ].map(([type, count]) => `sluice_model_tokens_total{type="${type}"} ${count}`),
  )
  assert.deepEqual(linesOf(counts, 'sluice_model_gateway_seconds_total'), [
    `sluice_model_gateway_seconds_total{${labels}} 0.02`,
  ])
  assert.deepEqual(linesOf(counts, 'sluice_model_upstream_seconds_total'), [
    `sluice_model_upstream_seconds_total{${labels}} 1.08`,
  ])
  assert.deepEqual(linesOf(counts, 'gen_ai_server_time_per_output_token_seconds_sum'), [
    `gen_ai_server_time_per_output_token_seconds_sum{${gen}} 0.05`,
  ])
  assert.deepEqual(linesOf(counts, 'gen_ai_client_token_usage_sum'), [
    `gen_ai_client_token_usage_sum{${gen},gen_ai_token_type="input"} 19`,
    `gen_ai_client_token_usage_sum{${gen},gen_ai_token_type="output"} 21`,
  ])
})

test('endpoints that are one operation of the conventions, and keys of one provider, share a histogram', () => {
  const metrics = new ModelMetrics(BOUND)
  for (const operation of ['chat', 'messages', 'responses']) metrics.note({ ...usual, operation, key: operation })
  metrics.note({ ...usual, operation: 'completions' })
  const counts = linesOf(metrics.counts, 'gen_ai_client_operation_duration_seconds_count')
  const of = (name: string) =>
    `gen_ai_operation_name="${name}",gen_ai_provider_name="acme",gen_ai_request_model="acme/one"`
  assert.deepEqual(counts, [
    `gen_ai_client_operation_duration_seconds_count{${of('chat')}} 3`,
    `gen_ai_client_operation_duration_seconds_count{${of('text_completion')}} 1`,
  ])
  assert.equal(linesOf(metrics.counts, 'sluice_model_requests_total').length, 4)
})

test('the durations of requests that ended with an error are apart by its class, with few values', () => {
  const metrics = new ModelMetrics(BOUND)
  const note = (status: EndedRequest['status'], errorCode: string | null, model = 'acme/one') =>
    metrics.note({ ...usual, status, errorCode, model })
  note('ok', null)
  note('ok', 'client_gone')
  note('partial', 'client_gone')
  note('failed', 'upstream_timeout')
  note('failed', 'upstream_unavailable')
  note('partial', 'stream_interrupted')
  note('cut', 'gateway_restarting')
  note('failed', null)
  for (let i = 0; i < 1_000; i++) note('failed', `unheard_of_${i}`)
  const of = (label: string) =>
    `gen_ai_operation_name="chat",gen_ai_provider_name="acme",gen_ai_request_model="acme/one"${label}`
  assert.deepEqual(linesOf(metrics.counts, 'gen_ai_client_operation_duration_seconds_count'), [
    `gen_ai_client_operation_duration_seconds_count{${of('')}} 3`,
    `gen_ai_client_operation_duration_seconds_count{${of(',error_type="upstream_error"')}} 3`,
    `gen_ai_client_operation_duration_seconds_count{${of(',error_type="service_unavailable"')}} 1`,
    `gen_ai_client_operation_duration_seconds_count{${of(',error_type="_OTHER"')}} 1001`,
  ])
})

const UNTIMED: [name: string, change: Partial<EndedRequest>, first: number, perToken: number][] = [
  ['a request that is not streamed', { streamed: false }, 0, 0],
  ['a stream without a byte', { firstByteMs: 0, status: 'failed' }, 0, 0],
  ['a stream that broke off', { status: 'partial' }, 1, 0],
  ['a stream of one token', { usage: { ...usage, output: 1 } }, 1, 0],
  ['a whole stream', {}, 1, 1],
]
for (const [name, change, first, perToken] of UNTIMED) {
  test(`${name} has ${first} times to a first token and ${perToken} per token`, () => {
    const metrics = new ModelMetrics(BOUND)
    metrics.note({ ...usual, ...change })
    const total = (histogram: { readonly counts: number[] } | undefined) => histogram?.counts.reduce((a, b) => a + b)
    const [series] = Object.values(metrics.counts)
    assert.deepEqual([total(series?.firstToken), total(series?.outputToken)], [first, perToken])
  })
}
