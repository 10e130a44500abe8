import { Counter, Gauge, Registry } from 'prom-client'
import { addCounters, newCounters, OVERHEAD_BUCKETS_MS, type RequestCounters } from '../metrics/requestMetrics.ts'
import type { WorkerSnapshot } from './workerMessages.ts'

const COUNTERS = [
  ['requests', 'sluice_requests_total', 'Requests for model endpoints'],
  ['streams', 'sluice_streams_total', 'Streamed answers that began'],
  ['chunksOut', 'sluice_stream_writes_total', 'Writes of streamed answers to clients'],
  ['holdsRefused', 'sluice_holds_refused_total', 'Holds that admission refused'],
  ['chargedUnits', 'sluice_charged_units_total', 'Units charged (1e-9 USD)'],
  ['clamped', 'sluice_charges_clamped_total', 'Charges that a provider reported above the hold'],
  ['estimated', 'sluice_usage_estimated_total', 'Charges by estimate, where no usage was reported'],
] as const

const LABELLED = [
  ['ended', 'sluice_requests_ended_total', 'Requests with a hold, by how they ended', 'status'],
  ['errors', 'sluice_errors_total', 'Errors answered, by row of the error table', 'error'],
  ['connectionFaults', 'sluice_connection_faults_total', 'Failed connections to providers, by cause', 'cause'],
  [
    'contradictions',
    'sluice_usage_contradictions_total',
    'Answers whose reported usage contradicts itself, by provider',
    'provider',
  ],
  ['routeFaults', 'sluice_route_faults_total', 'Failed attempts, by provider', 'provider'],
] as const

const GAUGES = [
  ['openRequests', 'sluice_open_requests', 'Requests whose answer has not ended'],
  ['activeRuns', 'sluice_active_runs', 'Requests that hold money'],
  ['settlementsOpen', 'sluice_settlements_waiting', 'Endings that Redis has not accepted yet'],
  ['journalLagBytes', 'sluice_journal_lag_bytes', 'What the workers have not on disk yet of their journals'],
  ['residentBytes', 'sluice_resident_bytes', 'Resident memory of the workers'],
] as const

const LEASE_GAUGES = [
  ['leases', 'sluice_leases', 'Leases that the workers have units of'],
  ['outUnits', 'sluice_leased_units', 'Units out in leases (1e-9 USD): free, held, and charged but not delivered'],
  ['openHolds', 'sluice_leased_holds', 'Requests that hold units of leases'],
  ['undelivered', 'sluice_endings_undelivered', 'Requests on leases that have ended and that Redis does not know of'],
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
  const total = newCounters()
  for (const counters of [retired, ...snapshots.map((snapshot) => snapshot.counters)]) addCounters(total, counters)
  for (const [field, name, help] of COUNTERS) {
    new Counter({ name, help, registers }).inc(total[field])
  }
  for (const [field, name, help, label] of LABELLED) {
    const counter = new Counter({ name, help, labelNames: [label], registers })
    for (const [value, count] of Object.entries(total[field])) counter.inc({ [label]: value }, count)
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
  new Gauge({ name: 'sluice_journal_bytes', help: 'What the workers keep in their journals', registers }).set(
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
  const text = (await registry.metrics()) + overheadHistogram(total)
  return { text, contentType: registry.contentType }
}

// The workers count buckets themselves; prom-client offers no way to load a histogram with counts.
function overheadHistogram(counters: RequestCounters): string {
  const name = 'sluice_admission_ms'
  let text = `# HELP ${name} From a request's arrival to its provider's being called\n# TYPE ${name} histogram\n`
  let count = 0
  for (let i = 0; i <= OVERHEAD_BUCKETS_MS.length; i++) {
    count += counters.overhead[i] as number
    text += `${name}_bucket{le="${OVERHEAD_BUCKETS_MS[i] ?? '+Inf'}"} ${count}\n`
  }
  return `${text}${name}_sum ${counters.overheadSumMs}\n${name}_count ${count}\n`
}
