import type { LeaseCounts } from '../admission/leases/leases.ts'
import type { ModelCounts } from '../metrics/modelMetrics.ts'
import type { RequestCounters } from '../metrics/requestMetrics.ts'
import type { Vitals } from '../metrics/vitals.ts'
import type { KeyOut } from '../upstream/keys/keyHealth.ts'

/** A worker's report of itself. */
export interface WorkerSnapshot {
  readonly counters: RequestCounters
  readonly models: ModelCounts
  /** Keys of providers that requests are kept from. */
  readonly keysOut: readonly Pick<KeyOut, 'key' | 'fault'>[]
  /** Ids of the routes that requests are kept from. */
  readonly routesOut: readonly string[]
  readonly openRequests: number
  readonly activeRuns: number
  readonly settlementsOpen: number
  readonly leases: LeaseCounts
  readonly journalBytes: number
  readonly residentBytes: number
  /** Lines of the access log that were not written. */
  readonly accessLinesDropped: number
  readonly loopDelayP99Ms: number
  /** How far this machine's clock is ahead of Redis's. */
  readonly clockDifferenceMs: number
  /** Time of the last beat at Redis. */
  readonly redisRoundTripMs: number
  /** Of the journal that the disk does not have yet. */
  readonly journalLagBytes: number
  readonly vitals: Pick<Vitals, 'redis' | 'journal' | 'control' | 'controlSilentMs' | 'draining'>
}

export type WorkerToMain =
  | { readonly ready: { readonly port: number; readonly owner: string } }
  /** All requests have ended; the worker answers new ones with 503 until it gets the message to exit. */
  | { readonly drained: true }
  | { readonly snapshot: { readonly id: number; readonly data: WorkerSnapshot } }

export type MainToWorker =
  | { readonly drain: true; readonly noticeMs: number }
  | { readonly leave: true }
  | { readonly takeSnapshot: number }
  /** Opens the access log again. */
  | { readonly reopen: true }
