import { formatDay } from '../../contract/api/time.ts'
import { invalidRequest } from '../../contract/errors/errors.ts'
import { formatUsdWide } from '../../contract/money/units.ts'
import { BOUNDS_MS, percentileMs } from '../book/statistics/buckets.ts'
import type { Figures } from '../book/statistics/cell.ts'
import {
  allTokens,
  pricedTokens,
  readAllTime,
  readStatistics,
  type Told,
  type WideFigures,
} from '../book/statistics/publicStatistics.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { quotient } from './decimal.ts'
import type { StatisticsLimits } from './limits.ts'
import { periodOf } from './period.ts'

const DAYS_USUAL = 30
/** Digits after the point of a rate. */
const RATE_PLACES = 6

/**
 * GET /v1/stats.
 * @param query as the schema of the route has checked it
 * @throws GatewayError invalid_request for more days than one answer may have
 */
export async function statsJson(
  db: Queryable,
  query: Readonly<Record<string, unknown>>,
  limits: StatisticsLimits,
  nowMs: number = Date.now(),
) {
  const days = Number(query['days'] ?? Math.min(DAYS_USUAL, limits.statsDaysMax))
  const model = typeof query['model'] === 'string' ? query['model'] : null
  if (model === null && days > limits.statsDaysMax) {
    throw invalidRequest(`days must be at most ${limits.statsDaysMax} without a model.`, 'days')
  }
  const span = periodOf(days, query['to'], nowMs)
  const told = await readStatistics(db, { ...span, model })
  return {
    object: 'stats' as const,
    from: formatDay(span.fromDay),
    to: formatDay(span.toDay),
    model,
    accounts_min: limits.statsAccountsMin,
    total: toldJson(told.total),
    days: [...told.days].map(([day, figures]) => ({
      object: 'stats_day' as const,
      day: formatDay(day),
      ...toldJson(figures),
    })),
    models: [...told.models].map(([id, figures]) => ({
      object: 'stats_model' as const,
      model: id,
      ...toldJson(figures),
    })),
    others: toldJson(told.others),
    all_time: sumsJson(await readAllTime(db, model)),
    bounds_ms: BOUNDS_MS,
  }
}

/** Sums as they are shown. */
export function sumsJson(sums: Figures | WideFigures) {
  const decided = sums.ok + sums.failed
  return {
    requests: sums.requests,
    ok: sums.ok,
    ended_by_client: sums.ended_by_client,
    failed: sums.failed,
    success_rate: decided === 0 ? null : quotient(BigInt(sums.ok), BigInt(decided), RATE_PLACES),
    tokens: {
      ...pricedTokens(sums),
      reasoning: sums.reasoning_tokens,
      total: allTokens(sums),
    },
    charge: { units: String(sums.units), usd: formatUsdWide(BigInt(sums.units)) },
  }
}

function toldJson(told: Told) {
  return {
    ...sumsJson(told.sums),
    latency_ms: timesJson(told.durations),
    first_token_ms: timesJson(told.first_tokens),
  }
}

function timesJson(counts: readonly number[]) {
  return {
    count: counts.reduce((sum, count) => sum + count, 0),
    p50: percentileMs(counts, 50),
    p90: percentileMs(counts, 90),
    p95: percentileMs(counts, 95),
    p99: percentileMs(counts, 99),
  }
}
