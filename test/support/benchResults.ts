import type { TargetName } from '../../bench/cases.ts'
import type { LoadResult } from '../../bench/load/options.ts'
import type { BenchResults, Measurement, Sample } from '../../bench/results.ts'

/** The result of a load of which only what is given matters. */
function loadResult(changes: Partial<LoadResult> = {}): LoadResult {
  const quantiles = { count: 1, min: 1, p50: 1, p99: 1, p999: 1, max: 1, exact: true }
  return {
    target: 'any',
    connections: 1,
    seconds: 1,
    requests: 100,
    requestsPerSecond: 100,
    events: 0,
    eventsPerSecond: 0,
    wrong: 0,
    firstWrong: '',
    lostEvents: 0,
    stalls: 0,
    longestGapMs: 0,
    latencyMs: quantiles,
    firstByteMs: quantiles,
    ...changes,
  }
}

/** A load of 100 requests that cost so much CPU time each. */
export function sample(microsPerRequest: number, changes: Partial<Sample> = {}): Sample {
  return {
    cpuMicros: microsPerRequest * 100,
    redisMicros: 1_000,
    residentBytes: 1_048_576,
    load: loadResult(),
    ...changes,
  }
}

/** A measurement of 100 requests that cost so much CPU time each. */
export function measurement(
  name: string,
  target: TargetName,
  round: number,
  microsPerRequest: number,
  load: Partial<LoadResult> = {},
): Measurement {
  return { case: name, target, round, ...sample(microsPerRequest), load: loadResult(load) }
}

/** Results in which nothing is measured but what is given. */
export function benchResults(changes: Partial<BenchResults> = {}): BenchResults {
  return {
    at: '2026-01-02T03:04:05.678Z',
    machine: {
      cpu: 'Test CPU',
      cores: 2,
      memoryBytes: 2 ** 33,
      kernel: '6.0',
      node: 'v20.0.0',
      redis: '7.0',
      postgres: '18.0',
      gateways: { nginx: '1.22', haproxy: '2.6' },
    },
    seconds: 2,
    rounds: 3,
    quick: false,
    pinned: { measured: 0, provider: 1, load: 1, others: 1 },
    background: 'autogroup',
    measurements: [],
    accounts: null,
    memory: null,
    settlement: null,
    allocations: [],
    books: [],
    ...changes,
  }
}
