import { Counter, Gauge, Registry } from 'prom-client'
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
  snapshots: readonly WorkerSnapshot[],
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
    new Gauge({ name, help, registers }).set(snapshots.reduce((sum, snapshot) => sum + snapshot[field], 0))
  }
  for (const [field, name, help] of LEASE_GAUGES) {
    new Gauge({ name, help, registers }).set(snapshots.reduce((sum, { leases }) => sum + leases[field], 0))
  }
  const recallHelp = 'Accounts whose idle leases the workers have called back'
  const recalls = snapshots.reduce((sum, { leases }) => sum + leases.recalls, 0)
  new Gauge({ name: 'sluice_lease_recalls', help: recallHelp, registers }).set(recalls)
  const lagHelp = 'Age of the oldest request on a lease whose ending is not delivered, from its hold on'
  const lags = snapshots.map(({ leases }) => leases.deliveryLagMs / 1_000)
  new Gauge({ name: 'sluice_delivery_lag_seconds', help: lagHelp, registers }).set(Math.max(0, ...lags))
  const journalBytes = snapshots.reduce((sum, snapshot) => sum + snapshot.journalBytes, 0)
  new Gauge({ name: 'sluice_journal_bytes', help: 'Bytes that the workers keep in their journals', registers }).set(
    journalBytes,
  )
  const unwritable = snapshots.filter(({ vitals }) => !vitals.journal).length
  const unwritableHelp = 'Workers that admit no requests because their journal cannot be written'
  new Gauge({ name: 'sluice_journal_failed', help: unwritableHelp, registers }).set(unwritable)
  const silences = snapshots.map(({ vitals }) => vitals.controlSilentMs / 1_000)
  const silentHelp = 'How long no control has answered; 0 while one answers'
  new Gauge({ name: 'sluice_control_silent_seconds', help: silentHelp, registers }).set(Math.max(0, ...silences))
  const delays = snapshots.map((snapshot) => snapshot.loopDelayP99Ms)
  const delayHelp = 'p99 event-loop delay of the slowest worker'
  new Gauge({ name: 'sluice_event_loop_delay_p99_ms', help: delayHelp, registers }).set(Math.max(0, ...delays))
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
