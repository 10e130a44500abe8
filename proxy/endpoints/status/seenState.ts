import { type ServiceState, worstState } from '../../../contract/api/incidents.ts'
import { dayOf, type Observed, ObservedTimes } from '../../../contract/api/observedDays.ts'
import { ERRORS } from '../../../contract/errors/errors.ts'
import type { RequestCounters } from '../../metrics/requestMetrics.ts'
import type { StatusLimits } from './limits.ts'

/** The percentage of requests with errors of the gateway or its providers, from which on the service counts as disturbed. */
const DISTURBED_PERCENT = 5
const OUT_PERCENT = 50

type Counts = Pick<RequestCounters, 'requests' | 'errors'>

export interface SeenStateOptions {
  /** The state of the parts of the service now. */
  readonly partsNow: () => ServiceState
  readonly counters: Counts
  readonly limits: Pick<StatusLimits, 'statusRequestsMin' | 'pulseIntervalMs' | 'rpcTimeoutMs'>
  readonly now?: () => number
}

/** Sums how long this process sees the service in each state, from its first good moment on. */
export class SeenState {
  private readonly options: SeenStateOptions
  private readonly now: () => number
  private readonly times = new ObservedTimes()
  /** The state of the parts at the last call, and when that was. */
  private last: { readonly parts: ServiceState; readonly atMs: number } | undefined
  private before: { requests: number; faults: number } = { requests: 0, faults: 0 }

  constructor(options: SeenStateOptions) {
    this.options = options
    this.now = options.now ?? Date.now
  }

  /**
   * Notes the time since the last call, in the state of the parts at that call. To be called at every pulse and whenever a
   * part may have changed its state: an outage between two calls is missed.
   */
  observe(): void {
    const atMs = this.now()
    const parts = this.options.partsNow()
    const errors = this.ofErrors()
    const { last } = this
    // Parts that are missing while a process starts are not an incident.
    if (last === undefined && parts !== 'operational') return
    this.last = { parts, atMs }
    const { pulseIntervalMs, rpcTimeoutMs } = this.options.limits
    // A machine that was suspended has observed nothing meanwhile.
    const longestMs = 2 * (pulseIntervalMs + rpcTimeoutMs)
    const ms = Math.min(Math.max(atMs - (last?.atMs ?? atMs), 0), longestMs)
    this.times.add({ day: dayOf(atMs), state: worstState([last?.parts ?? parts, errors]), ms })
  }

  /** The observations since the last call. */
  take(): Observed[] {
    return this.times.take()
  }

  /** Puts back observations that control did not take. */
  keep(observed: readonly Observed[]): void {
    for (const entry of observed) this.times.add(entry)
  }

  private ofErrors(): ServiceState {
    const { counters, limits } = this.options
    const now = { requests: counters.requests, faults: faultsIn(counters) }
    const requests = now.requests - this.before.requests
    const faults = now.faults - this.before.faults
    // The share of a few requests is not significant, so more are awaited.
    if (requests < limits.statusRequestsMin) return 'operational'
    this.before = now
    const percent = (100 * faults) / requests
    if (percent >= OUT_PERCENT) return 'partial_outage'
    return percent >= DISTURBED_PERCENT ? 'degraded_performance' : 'operational'
  }
}

/** Requests that failed by no fault of their client. */
function faultsIn({ errors }: Counts): number {
  let faults = 0
  for (const [row, count] of Object.entries(errors)) if (isFault(row)) faults += count
  return faults
}

function isFault(row: string): boolean {
  const { statuses } = (ERRORS as Record<string, { readonly statuses: readonly number[] }>)[row] ?? { statuses: [] }
  return (statuses[0] ?? 0) >= 500
}
