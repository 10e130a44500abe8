import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LATENCY, PACED_CONNECTIONS, paced, SMALL, STREAM_LONG, STREAM_SHORT } from '../../../../bench/cases.ts'
import { type Bar, bars } from '../../../../bench/report/bars.ts'
import {
  byRound,
  cpuRatios,
  growth,
  marginalChunk,
  median,
  paired,
  perRequest,
} from '../../../../bench/report/figures.ts'
import type { BenchResults } from '../../../../bench/results.ts'
import { benchResults, measurement, sample } from '../../../support/benchResults.ts'
import { itemOf } from '../../../support/present.ts'

function barOf(results: BenchResults, figure: RegExp): Bar {
  const found = bars(results).filter((bar) => figure.test(bar.figure))
  assert.equal(found.length, 1, `${figure} names ${found.length} bars`)
  return itemOf(found, 0)
}

test('a median has as many values below as above', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1 }), (list) => {
      const middle = median(list)
      assert.ok(list.filter((value) => value < middle).length <= list.length / 2)
      assert.ok(list.filter((value) => value > middle).length <= list.length / 2)
    }),
  )
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 2, 3]), 2.5)
  assert.ok(Number.isNaN(median([])))
})

test('ratios use values of the same round for any order of the measurements', () => {
  const results = benchResults({
    measurements: [
      measurement(SMALL, 'sluice', 2, 90),
      measurement(SMALL, 'nginx', 1, 10),
      measurement(SMALL, 'nginx', 2, 30),
      measurement(SMALL, 'sluice', 1, 20),
      // A round in which the other was not measured counts for neither.
      measurement(SMALL, 'sluice', 3, 1_000),
    ],
  })
  assert.deepEqual(cpuRatios(results, SMALL, 'sluice', 'nginx').toSorted(), [2, 3])
  assert.deepEqual(cpuRatios(results, SMALL, 'portkey', 'nginx'), [])
  assert.deepEqual(
    [...byRound(results, SMALL, 'nginx', perRequest)],
    [
      [1, 10],
      [2, 30],
    ],
  )
  assert.deepEqual(
    paired(new Map([[1, 5]]), new Map([[2, 7]]), (a, b) => a - b),
    [],
  )
})

test('a chunk more is the difference of long and short streams', () => {
  const results = benchResults({
    measurements: [measurement(STREAM_SHORT, 'nginx', 1, 20), measurement(STREAM_LONG, 'nginx', 1, 115)],
  })
  assert.deepEqual([...marginalChunk(results, 'nginx')], [[1, 0.5]])
  assert.equal(marginalChunk(results, 'sluice').size, 0)
})

test('memory grows by the medians of its first and last samples', () => {
  // One sample far off at either end, such as before a collection, does not count for the whole.
  const first = [100, 900, 102]
  const last = [110, 110, 10]
  assert.equal(growth([...first, 1, 2, 3, 4, 5, 6, ...last]), 110 / 102 - 1)
  assert.equal(growth([1, 2, 3]), undefined)
})

test('bars are reached at their limit and not beyond it', () => {
  const small = (micros: number) =>
    benchResults({ measurements: [measurement(SMALL, 'nginx', 1, 10), measurement(SMALL, 'sluice', 1, micros)] })
  const figure = /small request.*against nginx/
  const verdict = (micros: number) => {
    const { reached, hopeReached, measured } = barOf(small(micros), figure)
    return [reached, hopeReached, measured]
  }
  assert.deepEqual(verdict(20), [true, true, '2.00x'])
  assert.deepEqual(verdict(30), [true, false, '3.00x'])
  assert.deepEqual(verdict(30.1), [false, false, '3.01x'])
  const { measured, reached } = barOf(benchResults(), figure)
  assert.deepEqual([measured, reached], [undefined, false])
})

test('the bar against Portkey is a share; lower is better', () => {
  const against = (micros: number) =>
    barOf(
      benchResults({ measurements: [measurement(SMALL, 'sluice', 1, 10), measurement(SMALL, 'portkey', 1, micros)] }),
      /Portkey/,
    )
  const { bar, measured, reached, hopeReached } = against(300)
  assert.deepEqual([bar, measured, reached, hopeReached], ['at most 1/25', '1/30', true, false])
  assert.equal(against(240).reached, false)
})

test('the added latency is that above no gateway, by round', () => {
  const at = (target: 'sluice' | 'direct', round: number, p99: number) =>
    measurement(LATENCY, target, round, 1, {
      latencyMs: { count: 1, min: 0, p50: 0, p99, p999: 0, max: 0, exact: true },
    })
  const measurements = [at('direct', 1, 0.1), at('sluice', 1, 0.5), at('direct', 2, 5), at('sluice', 2, 5.5)]
  const { measured, reached } = barOf(benchResults({ measurements }), /added p99/)
  assert.deepEqual([measured, reached], ['0.45 ms', true])
})

test('paced streams count up to the most with which no round lost or stalled', () => {
  const run = (faults: readonly [connections: number, lostEvents: number, stalls: number][]) =>
    barOf(
      benchResults({
        measurements: faults.map(([connections, lostEvents, stalls], i) =>
          measurement(paced(connections), 'sluice', i, 1, { lostEvents, stalls }),
        ),
      }),
      /paced 20 ms/,
    )
  const clean = PACED_CONNECTIONS.map((connections) => [connections, 0, 0] as const)
  assert.equal(run(clean.map((row) => [...row])).measured, '2,000')
  assert.equal(
    run([
      [500, 0, 0],
      [1_000, 0, 0],
      [1_000, 0, 1],
    ]).measured,
    '500',
  )
  // More streams without a fault do not make up for fewer with one.
  assert.equal(
    run([
      [100, 1, 0],
      [500, 0, 0],
      [1_000, 0, 0],
    ]).measured,
    '0',
  )
})

test('accounts, memory and settlement are judged by their medians', () => {
  const rounds = [100, 104, 180].map((active) => ({ few: sample(100), loaded: sample(100), active: sample(active) }))
  const accounts = { few: 10, many: 100_000, active: 10_000, startSeconds: 1, rounds }
  const run = (elapsedMs: number) => ({ receipts: 30_000, accounts: 1, elapsedMs, cpuMicrosPerReceipt: 1 })
  const samples = [100, 100, 100, 106].map((residentBytes, i) => ({ requests: i, residentBytes }))
  const results = benchResults({
    accounts,
    memory: { samples },
    settlement: { runs: [run(1_000), run(2_000), run(4_000)] },
  })
  assert.deepEqual(
    [barOf(results, /^CPU per request with/).measured, barOf(results, /^CPU per request with/).reached],
    ['1.04x', true],
  )
  assert.deepEqual([barOf(results, /RSS/).measured, barOf(results, /RSS/).reached], ['6.0 %', false])
  assert.deepEqual([barOf(results, /settlement/).measured, barOf(results, /settlement/).reached], ['15,000', true])
})
