import { Counter, Gauge, Registry } from 'prom-client'
import { BUILD_INFO, buildLabels } from '../../contract/std/buildInfo.ts'
import {
  type CounterRow,
  countersBy,
  type Histogram,
  isHistogram,
  type RequestCounters,
  sumCounters,
} from '../metrics/requestMetrics.ts'
import type { WorkerSnapshot } from './workerMessages.ts'

const GAUGES = [
  ['openRequests', 'sluice_open_requests', 'Requests whose answer has not ended'],
  ['activeRuns', 'sluice_active_runs', 'Requests that hold money'],
  ['settlementsOpen', 'sluice_settlements_waiting', 'Endings that Redis has not accepted yet'],
  ['journalLagBytes', 'sluice_journal_lag_bytes', 'Bytes of their journals that the workers do not have on disk yet'],
  ['residentBytes', 'sluice_resident_bytes', 'Resident memory of the workers'],
] as const

const LEASE_GAUGES = [
  ['leases', 'sluice_leases', 'Leases that the workers have units of'],
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
    'sluice_event_loop_delay_p99_seconds',
    'p99 event-loop delay of the slowest worker',
    (snapshots) => mostOf(snapshots, ({ loopDelayP99Ms }) => loopDelayP99Ms / 1_000),
  ],
]

const SHARE = 'sluice_worker_requests_total'

/** The supervisor's own figures of its workers. */
export interface Fleet {
  /** The counts of dead workers. */
  readonly retired: RequestCounters
  readonly restarts: number
  /** Requests by slot: those of each worker and of its predecessors in the slot. */
  readonly requestsBySlot: readonly number[]
}

/** The metrics of all workers, running and dead, in the Prometheus text format. */
export async function renderMetrics(
  snapshots: Snapshots,
  { retired, restarts, requestsBySlot }: Fleet,
): Promise<{ text: string; contentType: string }> {
  const registry = new Registry()
  const registers = [registry]
  const histograms: string[] = []
  for (const [row, counted] of countersBy(sumCounters([retired, ...snapshots.map(({ counters }) => counters)]))) {
    const { name, help, label } = row
    if (typeof counted === 'number') new Counter({ name, help, registers }).inc(counted)
    else if (isHistogram(counted)) histograms.push(histogramText(row, counted))
    else if (label !== undefined) {
      const counter = new Counter({ name, help, labelNames: [label], registers })
      for (const [value, count] of Object.entries(counted)) counter.inc({ [label]: value }, count)
    }
  }
  for (const [field, name, help] of GAUGES) {
    new Gauge({ name, help, registers }).set(sumOf(snapshots, (snapshot) => snapshot[field]))
  }
  for (const [field, name, help] of LEASE_GAUGES) {
    new Gauge({ name, help, registers }).set(sumOf(snapshots, ({ leases }) => leases[field]))
  }
  for (const [name, help, read] of READ_GAUGES) new Gauge({ name, help, registers }).set(read(snapshots))
  new Gauge({ ...BUILD_INFO, registers }).set(buildLabels(), 1)
  new Gauge({ name: 'sluice_workers', help: 'Workers that answer', registers }).set(snapshots.length)
  new Counter({ name: 'sluice_worker_restarts_total', help: 'Workers replaced', registers }).inc(restarts)
  const shareHelp = 'Requests for model endpoints, by worker: how connections spread'
  const share = new Counter({ name: SHARE, help: shareHelp, labelNames: ['worker'], registers })
  for (const [slot, requests] of requestsBySlot.entries()) share.inc({ worker: slot }, requests)
  const text = (await registry.metrics()) + histograms.join('')
  return { text, contentType: registry.contentType }
}

// The workers count buckets themselves; prom-client offers no way to load a histogram with counts.
function histogramText({ name, help, buckets = [] }: CounterRow, { counts, sum }: Histogram): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`
  let count = 0
  for (const [i, more] of counts.entries()) {
    count += more
    text += `${name}_bucket{le="${buckets[i] ?? '+Inf'}"} ${count}\n`
  }
  return `${text}${name}_sum ${sum}\n${name}_count ${count}\n`
}
