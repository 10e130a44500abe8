import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareBars, durationMs, percentOf } from '../../../../control/load/bars.ts'

const TIMES = { count: 100, p50: 1, p90: 2, p99: 300, p99_9: 400, max: 500 }
const NONE = { p99FirstMs: undefined, p99TotalMs: undefined, errorsPercent: undefined }

test('times and shares are read with their units', () => {
  assert.deepEqual(['300ms', '2s', '1.5m', '0.5ms'].map(durationMs), [300, 2_000, 90_000, 0.5])
  for (const text of ['300', '0s', '-1s', '2h', 's', '1e3ms']) assert.equal(durationMs(text), undefined, text)
  assert.deepEqual(['0.1%', '0%', '100%'].map(percentOf), [0.1, 0, 100])
  for (const text of ['0.1', '101%', '%', '-1%']) assert.equal(percentOf(text), undefined, text)
})

test('a bar is met up to its limit', () => {
  const measured = { requests: 1_000, failed: 1, first_token_ms: TIMES, total_ms: TIMES }
  const met = (p99FirstMs: number, errorsPercent: number): boolean[] => {
    return compareBars({ ...NONE, p99FirstMs, errorsPercent }, measured).map((result) => result.met)
  }
  assert.deepEqual(met(300, 0.1), [true, true])
  assert.deepEqual(met(299, 0.09), [false, false])
  assert.deepEqual(compareBars(NONE, measured), [])
})

test('bars are not met by nothing', () => {
  const times = { ...TIMES, count: 0, p99: 0 }
  const measured = { requests: 0, failed: 0, first_token_ms: times, total_ms: times }
  const results = compareBars({ p99FirstMs: 1, p99TotalMs: 1, errorsPercent: 50 }, measured)
  assert.deepEqual(
    results.map(({ met }) => met),
    [false, false, false],
  )
})
