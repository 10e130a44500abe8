import { intArray, textArray } from '../../../runtime/db/arrays.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { MarketplaceLimits } from '../limits.ts'
import type { ProviderAdmission } from './admission.ts'

const MINUTE_MS = 60_000

/** A proxy's measurements of a provider since its last report; see RouteMeasure. */
export interface Measure {
  readonly provider: string
  readonly model: string
  readonly requests: number
  readonly errors: number
  readonly stalls: number
  readonly overReports: number
  readonly timed: number
  readonly slow: number
  readonly firstOutputMs: number
}

/** The measurements of an admission in a window of time. */
export interface Window extends Omit<Measure, 'provider' | 'model' | 'firstOutputMs'> {
  /** Comparisons of answers, and how many of them differed or reported too much usage. */
  readonly compared: number
  readonly different: number
  readonly overReportedProbes: number
}

/** Adds a proxy's measurements to the minute of their report. */
export async function noteMeasures(db: Queryable, measures: readonly Measure[], nowMs: number): Promise<void> {
  if (measures.length === 0) return
  const column = (of: (measure: Measure) => number) => intArray(measures.map(of))
  await db.query(
    `INSERT INTO provider_measures AS m
       (provider_id, model, minute, requests, errors, stalls, over_reports, timed, slow, first_output_ms)
     SELECT provider_id, model, $1, sum(a), sum(b), sum(c), sum(d), sum(e), sum(f), sum(g)
     FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
       $9::bigint[], $10::bigint[]) AS t (provider_id, model, a, b, c, d, e, f, g)
     WHERE EXISTS (SELECT FROM provider_admissions p WHERE p.provider_id = t.provider_id AND p.model = t.model)
     GROUP BY provider_id, model ORDER BY provider_id, model
     ON CONFLICT (provider_id, model, minute) DO UPDATE SET requests = m.requests + excluded.requests,
       errors = m.errors + excluded.errors, stalls = m.stalls + excluded.stalls,
       over_reports = m.over_reports + excluded.over_reports, timed = m.timed + excluded.timed,
       slow = m.slow + excluded.slow, first_output_ms = m.first_output_ms + excluded.first_output_ms`,
    [
      Math.floor(nowMs / MINUTE_MS),
      textArray(measures.map(({ provider }) => provider)),
      textArray(measures.map(({ model }) => model)),
      column(({ requests }) => requests),
      column(({ errors }) => errors),
      column(({ stalls }) => stalls),
      column(({ overReports }) => overReports),
      column(({ timed }) => timed),
      column(({ slow }) => slow),
      column(({ firstOutputMs }) => firstOutputMs),
    ],
  )
}

/** Removes measurements that are no longer read. */
export async function forgetMeasures(db: Queryable, limits: MarketplaceLimits, nowMs: number): Promise<void> {
  const oldest = Math.floor((nowMs - limits.providerMeasuresKeptMs) / MINUTE_MS)
  await db.query('DELETE FROM provider_measures WHERE minute < $1', [oldest])
}

/**
 * The measurements of an admission in the last limits.providerWindowMs, and its number of requests since its last change
 * of state. Measurements of the minute of that change count for neither, because they may be older than the change.
 */
export async function readWindow(
  db: Queryable,
  { id, providerId, model, stateAtMs, admittedAtMs }: ProviderAdmission,
  nowMs: number,
  limits: MarketplaceLimits,
): Promise<{ window: Window; served: number }> {
  const changed = Math.floor(stateAtMs / MINUTE_MS)
  const since = Math.max(nowMs - limits.providerWindowMs, stateAtMs)
  // Before a provider was admitted it had no requests.
  const first = stateAtMs === admittedAtMs ? changed : changed + 1
  const found = await db.query<Omit<Window, 'compared' | 'different' | 'overReportedProbes'> & { served: number }>(
    `SELECT coalesce(sum(requests), 0) AS served,
       coalesce(sum(requests) FILTER (WHERE minute >= $4), 0) AS requests,
       coalesce(sum(errors) FILTER (WHERE minute >= $4), 0) AS errors,
       coalesce(sum(stalls) FILTER (WHERE minute >= $4), 0) AS stalls,
       coalesce(sum(over_reports) FILTER (WHERE minute >= $4), 0) AS "overReports",
       coalesce(sum(timed) FILTER (WHERE minute >= $4), 0) AS timed,
       coalesce(sum(slow) FILTER (WHERE minute >= $4), 0) AS slow
     FROM provider_measures WHERE provider_id = $1 AND model = $2 AND minute >= $3`,
    [providerId, model, first, Math.max(first, Math.floor(since / MINUTE_MS))],
  )
  const probes = await db.query<Pick<Window, 'compared' | 'different' | 'overReportedProbes'> & { failed: number }>(
    `SELECT count(*) FILTER (WHERE outcome <> 'failed') AS compared,
       count(*) FILTER (WHERE outcome = 'different') AS different,
       count(*) FILTER (WHERE outcome = 'over_report') AS "overReportedProbes",
       count(*) FILTER (WHERE outcome = 'failed') AS failed
     FROM provider_probes WHERE admission_id = $1 AND at >= $2`,
    [id, new Date(Math.max(nowMs - limits.providerProbeWindowMs, stateAtMs))],
  )
  const [measured, probed] = [found.rows[0], probes.rows[0]]
  if (measured === undefined || probed === undefined) throw new Error('the database returned no sums')
  const { served, ...sums } = measured
  const { failed, ...compared } = probed
  return { served, window: { ...sums, ...compared, requests: sums.requests + failed, errors: sums.errors + failed } }
}
