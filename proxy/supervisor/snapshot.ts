import type { IntervalHistogram } from 'node:perf_hooks'
import type { ClockDifference } from '../../contract/wire/clockDifference.ts'
import type { LeaseCounts } from '../admission/leases/leases.ts'
import type { RequestMetrics } from '../metrics/requestMetrics.ts'
import type { Vitals } from '../metrics/vitals.ts'
import type { RouteHealth } from '../upstream/routeHealth.ts'
import type { WorkerSnapshot } from './workerMessages.ts'

/** Part of the time between ticks that the histogram of the event loop measures. */
export const LOOP_RESOLUTION_MS = 20

/** The parts of a worker that its report covers. */
export interface SnapshotParts {
  readonly metrics: Pick<RequestMetrics, 'counters' | 'models' | 'access'>
  readonly keysOut: () => WorkerSnapshot['keysOut']
  readonly health: Pick<RouteHealth, 'out'>
  readonly server: { readonly open: number }
  readonly active: { readonly size: number }
  readonly strays: { readonly size: number }
  readonly leases: { readonly undelivered: number; readonly counts: LeaseCounts }
  readonly journal: { readonly bytes: number; readonly lagBytes: number }
  readonly loopDelay: Pick<IntervalHistogram, 'percentile'>
  readonly clock: Pick<ClockDifference, 'ms' | 'roundTripMs'>
  readonly vitals: () => Vitals
}

/** A worker's report of itself. */
export function snapshotOf(parts: SnapshotParts): WorkerSnapshot {
  const { metrics, keysOut, health, server, active, strays, leases, journal, loopDelay, clock, vitals } = parts
  return {
    counters: metrics.counters,
    models: metrics.models.counts,
    keysOut: keysOut(),
    routesOut: health.out(Date.now()),
    openRequests: server.open,
    activeRuns: active.size,
    settlementsOpen: strays.size + leases.undelivered,
    leases: leases.counts,
    journalBytes: journal.bytes,
    journalLagBytes: journal.lagBytes,
    accessLinesDropped: metrics.access?.dropped ?? 0,
    residentBytes: process.memoryUsage.rss(),
    loopDelayP99Ms: Math.max(0, loopDelay.percentile(99) / 1e6 - LOOP_RESOLUTION_MS),
    clockDifferenceMs: clock.ms,
    redisRoundTripMs: clock.roundTripMs,
    vitals: vitals(),
  }
}
