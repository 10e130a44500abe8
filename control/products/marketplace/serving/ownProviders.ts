import { coinAmountJson } from '../../../catalog/pricing/coinAmounts.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { admissionsOfAccount, PPM, type ProviderAdmission, trafficPpm } from './admission.ts'
import { readWindow, type Window } from './measures.ts'
import { payJson } from './payJson.ts'
import { uptimeOf } from './record.ts'

/** The present and past admissions of an account's providers, with exact figures, for their owner. */
export async function ownProvidersJson(db: Queryable, accountId: string, nowMs: number, limits: MarketplaceLimits) {
  const data = []
  for (const admission of await admissionsOfAccount(db, accountId)) {
    const { window } = await readWindow(db, admission, nowMs, limits)
    data.push(ownJson(admission, window, nowMs))
  }
  return { object: 'list' as const, data }
}

function ownJson(admission: ProviderAdmission, window: Window, nowMs: number) {
  const { id, providerId, model, upstreamModel, state, reason, stateAtMs, resumesAtMs, admittedAtMs } = admission
  return {
    object: 'provider.admission' as const,
    id,
    provider: providerId,
    model,
    upstream_model: upstreamModel,
    state,
    reason: reason === '' ? null : reason,
    admitted_at: new Date(admittedAtMs).toISOString(),
    state_since: new Date(stateAtMs).toISOString(),
    resumes_at: resumesAtMs === null ? null : new Date(resumesAtMs).toISOString(),
    suspensions: admission.suspensions,
    pay: payJson(admission.pay),
    traffic_share: trafficPpm(admission) / PPM,
    uptime: uptimeOf(admission, nowMs),
    bars: {
      error_rate: admission.errorPpmMax / PPM,
      first_output_ms: admission.firstOutputMaxMs,
      mismatch_rate: admission.mismatchPpmMax / PPM,
    },
    recent: {
      requests: window.requests,
      errors: window.errors,
      stalls: window.stalls,
      slow_streams: window.slow,
      timed_streams: window.timed,
      over_reports: window.overReports,
      compared: window.compared,
      different: window.different,
    },
    receipts: admission.receipts,
    earned: coinAmountJson({ nanos: admission.earnedNanos, units: admission.earnedUnits }),
  }
}
