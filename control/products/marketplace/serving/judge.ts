import type { MarketplaceLimits } from '../limits.ts'
import { PPM, type ProviderAdmission } from './admission.ts'
import type { Window } from './measures.ts'
import type { Transition } from './transition.ts'

/** The share of streams that may take longer than the bar, which is thus the bar of the 95th percentile. */
const SLOW_PPM_MAX = 50_000

type JudgeLimits = Pick<
  MarketplaceLimits,
  | 'providerRequestsMin'
  | 'providerProbesMin'
  | 'providerOverReportsMin'
  | 'providerOverReportPpmMax'
  | 'providerSuspensionsMax'
  | 'providerCoolDownMs'
>

/**
 * Decides the next state of an admission by its measurements: an exceeded bar suspends it, passed probation ends, and a
 * suspension that is over returns to probation. A pure function.
 * @param window recent measurements, since the last change of state
 * @param served requests since the last change of state
 * @returns undefined without a change
 */
export function judge(
  admission: ProviderAdmission,
  window: Window,
  served: number,
  nowMs: number,
  limits: JudgeLimits,
): Transition | undefined {
  const { state, suspensions, resumesAtMs } = admission
  if (state === 'removed') return undefined
  if (state === 'suspended') {
    if (resumesAtMs === null || nowMs < resumesAtMs) return undefined
    return { to: 'probation', reason: '', suspensions, resumesAtMs: null }
  }
  const fault = faultOf(admission, window, limits)
  if (fault !== undefined) return suspension(admission, fault, nowMs, limits)
  const isProven = served >= admission.probationRequests && nowMs >= admission.stateAtMs + admission.probationMs
  if (state === 'serving' || !isProven) return undefined
  return { to: 'serving', reason: '', suspensions, resumesAtMs: null }
}

interface Fault {
  readonly reason: string
  readonly measured: Readonly<Record<string, number>>
}

/** The first bar that is exceeded. Few requests decide nothing, because chance would. */
function faultOf(admission: ProviderAdmission, window: Window, limits: JudgeLimits): Fault | undefined {
  const { requests, errors, stalls, timed, slow, overReports, compared, different, overReportedProbes } = window
  const failures = errors + stalls
  if (requests >= limits.providerRequestsMin && failures * PPM > admission.errorPpmMax * requests) {
    return { reason: 'error_rate', measured: { requests, errors, stalls } }
  }
  if (timed >= limits.providerRequestsMin && slow * PPM > SLOW_PPM_MAX * timed) {
    return { reason: 'latency', measured: { timed, slow, first_output_max_ms: admission.firstOutputMaxMs } }
  }
  const isEnough = overReports >= limits.providerOverReportsMin
  if (isEnough && overReports * PPM > limits.providerOverReportPpmMax * requests) {
    return { reason: 'over_reports', measured: { requests, over_reports: overReports } }
  }
  if (compared < limits.providerProbesMin) return undefined
  if (overReportedProbes * PPM > limits.providerOverReportPpmMax * compared) {
    return { reason: 'over_reports', measured: { compared, over_reports: overReportedProbes } }
  }
  if (different * PPM <= admission.mismatchPpmMax * compared) return undefined
  return { reason: 'mismatch', measured: { compared, different } }
}

/** Each suspension lasts twice as long as the one before; only the operator ends the last one. */
function suspension({ suspensions }: ProviderAdmission, fault: Fault, nowMs: number, limits: JudgeLimits): Transition {
  const number = suspensions + 1
  const isLast = number >= limits.providerSuspensionsMax
  const resumesAtMs = isLast ? null : nowMs + limits.providerCoolDownMs * 2 ** suspensions
  return { to: 'suspended', suspensions: number, resumesAtMs, ...fault }
}
