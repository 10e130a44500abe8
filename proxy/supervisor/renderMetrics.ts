import { BUILD_INFO, buildLabels } from '../../contract/std/buildInfo.ts'
import { Exposition } from '../../contract/std/exposition.ts'
import { addModels, type ModelCounts, type SeriesBound } from '../metrics/modelMetrics.ts'
import { countersBy, isHistogram, type RequestCounters, sumCounters } from '../metrics/requestMetrics.ts'
import { writeModels } from './modelFamilies.ts'
import type { WorkerSnapshot } from './workerMessages.ts'

const GAUGES = [
  ['openRequests', 'sluice_open_requests', 'Requests whose answer has not ended'],
  ['activeRuns', 'sluice_active_runs', 'Requests that hold money'],
  ['settlementsOpen', 'sluice_settlements_waiting', 'Endings that Redis has not accepted yet'],
  ['journalLagBytes', 'sluice_journal_lag_bytes', 'Bytes of their journals that the workers do not have on disk yet'],
  [
    'accessLinesDropped',
    'sluice_access_log_lines_dropped',
    'Lines of the access log that the running workers did not write',
  ],
  ['residentBytes', 'sluice_resident_bytes', 'Resident memory of the workers'],
] as const

const LEASE_GAUGES = [
  ['leases', 'sluice_leases', 'Leases that the workers have units of'],
  ['resting', 'sluice_leases_resting', 'Leases that no request has used for a while, and that stay all the same'],
  ['outUnits', 'sluice_leased_units', 'Units out in leases (1e-9 USD): free, held, and charged but not delivered'],
  ['openHolds', 'sluice_leased_holds', 'Requests that hold units of leases'],
  ['undelivered', 'sluice_endings_undelivered', 'Endings of requests on leases that are not delivered to Redis'],
] as const

type Snapshots = readonly WorkerSnapshot[]

const sumOf = (snapshots: Snapshots, read: (snapshot: WorkerSnapshot) => number): number =>
  snapshots.reduce((sum, snapshot) => sum + read(snapshot), 0)
const mostOf = (snapshots: Snapshots, read: (snapshot: WorkerSnapshot) => number): number =>
  Math.max(0, ...snapshots.map(read))
/** The value that is farthest from zero. */
const farthestOf = (snapshots: Snapshots, read: (snapshot: WorkerSnapshot) => number): number =>
  snapshots.map(read).reduce((far, value) => (Math.abs(value) > Math.abs(far) ? value : far), 0)

const READ_GAUGES: readonly (readonly [name: string, help: string, read: (snapshots: Snapshots) => number])[] = [
  [
    'sluice_lease_recalls',
    'Accounts whose idle leases the workers have called back',
    (snapshots) => sumOf(snapshots, ({ leases }) => leases.recalls),
  ],
  [
    'sluice_delivery_lag_seconds',
    'Age of the oldest request on a lease whose ending is not delivered, from its hold on',
    (snapshots) => mostOf(snapshots, ({ leases }) => leases.deliveryLagMs / 1_000),
  ],
  [
    'sluice_journal_bytes',
    'Bytes that the workers keep in their journals',
    (snapshots) => sumOf(snapshots, ({ journalBytes }) => journalBytes),
  ],
  [
    'sluice_journal_failed',
    'Workers that admit no requests because their journal cannot be written',
    (snapshots) => snapshots.filter(({ vitals }) => !vitals.journal).length,
  ],
  [
    'sluice_control_silent_seconds',
    'How long no control has answered; 0 while one answers',
    (snapshots) => mostOf(snapshots, ({ vitals }) => vitals.controlSilentMs / 1_000),
  ],
  [
    'sluice_clock_difference_seconds',
    "How far this machine's clock is ahead of Redis's; below zero when it is behind",
    (snapshots) => farthestOf(snapshots, ({ clockDifferenceMs }) => clockDifferenceMs / 1_000),
  ],
  [
    'sluice_redis_round_trip_seconds',
    'Time of the last regular call at Redis, of the slowest worker',
    (snapshots) => mostOf(snapshots, ({ redisRoundTripMs }) => redisRoundTripMs / 1_000),
  ],
  [
    'sluice_redis_away',
    'Workers that have no connection to Redis',
    (snapshots) => snapshots.filter(({ vitals }) => !vitals.redis).length,
  ],
  [
    'sluice_event_loop_delay_p99_seconds',
    'p99 event-loop delay of the slowest worker',
    (snapshots) => mostOf(snapshots, ({ loopDelayP99Ms }) => loopDelayP99Ms / 1_000),
  ],
]

/** The supervisor's own figures of its workers. */
export interface Fleet {
  /** The counts of dead workers. */
  readonly retired: RequestCounters
  readonly retiredModels: ModelCounts
  readonly restarts: number
  /** Requests by slot: those of each worker and of its predecessors in the slot. */
  readonly requestsBySlot: readonly number[]
}

/** The metrics of all workers, running and dead. */
export function renderMetrics(snapshots: Snapshots, fleet: Fleet, bound: SeriesBound): Exposition {
  const out = new Exposition()
  writeCounters(out, sumCounters([fleet.retired, ...snapshots.map(({ counters }) => counters)]))
  const models = structuredClone(fleet.retiredModels)
  for (const snapshot of snapshots) addModels(models, snapshot.models, bound)
  writeModels(out, models)
  for (const [field, name, help] of GAUGES) {
    out.family(name, help, 'gauge').sample(sumOf(snapshots, (snapshot) => snapshot[field]))
  }
  for (const [field, name, help] of LEASE_GAUGES) {
    out.family(name, help, 'gauge').sample(sumOf(snapshots, ({ leases }) => leases[field]))
  }
  for (const [name, help, read] of READ_GAUGES) out.family(name, help, 'gauge').sample(read(snapshots))
  writeOut(out, snapshots)
  out.family(BUILD_INFO.name, BUILD_INFO.help, 'gauge', BUILD_INFO.labelNames).sample(1, buildLabels())
  out.family('sluice_workers', 'Workers that answer', 'gauge').sample(snapshots.length)
  out.family('sluice_worker_restarts_total', 'Workers replaced', 'counter').sample(fleet.restarts)
  const shareHelp = 'Requests for model endpoints, by worker: how connections spread'
  out.family('sluice_worker_requests_total', shareHelp, 'counter', ['worker'])
  for (const [worker, requests] of fleet.requestsBySlot.entries()) out.sample(requests, { worker })
  return out
}

function writeCounters(out: Exposition, counters: RequestCounters): void {
  for (const [row, counted] of countersBy(counters)) {
    const { name, help, label, buckets = [] } = row
    if (typeof counted === 'number') out.family(name, help, 'counter').sample(counted)
    else if (isHistogram(counted)) out.family(name, help, 'histogram').histogram(buckets, counted)
    else if (label !== undefined) {
      out.family(name, help, 'counter', [label])
      for (const [value, count] of Object.entries(counted)) out.sample(count, { [label]: value })
    }
  }
}

/** The routes and keys that requests are kept from. */
function writeOut(out: Exposition, snapshots: Snapshots): void {
  const routes = countOf(snapshots.flatMap(({ routesOut }) => routesOut))
  out.family(
    'sluice_routes_out',
    'Workers that keep requests from a route, whose breaker is open or that asked for a pause',
    'gauge',
    ['route'],
  )
  for (const [route, count] of routes) out.sample(count, { route })
  const keys = countOf(snapshots.flatMap(({ keysOut }) => keysOut.map(({ key, fault }) => `${fault} ${key}`)))
  const help = 'Keys of providers that are out, by provider and key and by fault, over all routes and workers'
  out.family('sluice_provider_keys_out', help, 'gauge', ['key', 'fault'])
  for (const [name, count] of keys) {
    const [fault = '', key = ''] = name.split(' ', 2)
    out.sample(count, { key, fault })
  }
}

function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
