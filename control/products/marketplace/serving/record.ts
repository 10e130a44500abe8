import { DAY_MS } from '../../../../contract/api/time.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { admissionsOf, PPM, type ProviderAdmission, trafficPpm } from './admission.ts'

interface DaysRow {
  readonly provider_id: string
  readonly model: string
  readonly requests: number
  readonly failures: number
  readonly timed: number
  readonly first_output_ms: number
}

/** The public record of a provider and a model. */
export type RecordJson = ReturnType<typeof recordJson>

/**
 * The admissions and track records of registered providers, by provider id, without removed admissions. Requests, errors and
 * times are of published days only (see `closeDays`).
 * @returns for each id a list, in the order of the models
 */
export async function readRecords(
  db: Queryable,
  providerIds: readonly string[],
  nowMs: number,
  limits: MarketplaceLimits,
): Promise<ReadonlyMap<string, RecordJson[]>> {
  const found = await db.query<DaysRow>(
    `SELECT provider_id, model, sum(requests) AS requests, sum(failures) AS failures, sum(timed) AS timed,
       sum(first_output_ms) AS first_output_ms
     FROM provider_days WHERE provider_id = ANY ($1::text[]) AND day >= $2 GROUP BY 1, 2`,
    [textArray([...providerIds]), Math.floor(nowMs / DAY_MS) - limits.providerRecordDays],
  )
  const told = new Map(found.rows.map((row) => [`${row.provider_id} ${row.model}`, row]))
  const records = new Map<string, RecordJson[]>(providerIds.map((id) => [id, []]))
  for (const admission of await admissionsOf(db, providerIds)) {
    if (admission.state === 'removed') continue
    const days = told.get(`${admission.providerId} ${admission.model}`)
    records.get(admission.providerId)?.push(recordJson(admission, days, nowMs))
  }
  return records
}

function recordJson(admission: ProviderAdmission, days: DaysRow | undefined, nowMs: number) {
  const { model, state, reason, admittedAtMs, stateAtMs } = admission
  return {
    model,
    state,
    reason: reason === '' ? null : reason,
    since: new Date(admittedAtMs).toISOString(),
    state_since: new Date(stateAtMs).toISOString(),
    traffic_share: trafficPpm(admission) / PPM,
    uptime: uptimeOf(admission, nowMs),
    requests: days?.requests ?? null,
    error_rate: days === undefined ? null : ratio(days.failures, days.requests),
    first_output_ms: days === undefined || days.timed === 0 ? null : Math.round(days.first_output_ms / days.timed),
  }
}

/** The share of the time since it was admitted in which a provider was not suspended, with three digits. */
export function uptimeOf(
  {
    state,
    stateAtMs,
    admittedAtMs,
    suspendedMs,
  }: Pick<ProviderAdmission, 'state' | 'stateAtMs' | 'admittedAtMs' | 'suspendedMs'>,
  nowMs: number,
): number {
  const lasting = state === 'suspended' ? Math.max(0, nowMs - stateAtMs) : 0
  const all = Math.max(1, nowMs - admittedAtMs)
  return Math.round(1_000 * Math.max(0, 1 - (suspendedMs + lasting) / all)) / 1_000
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((PPM * part) / whole) / PPM
}

/**
 * Adds finished days to the public record: for a provider and a model, only days on which it served requests of enough
 * accounts (limits.statsAccountsMin), so that the difference between two reads never shows a single account's use.
 * @param nowMs milliseconds since 1970
 */
export async function closeDays(db: Queryable, nowMs: number, limits: MarketplaceLimits): Promise<void> {
  const today = Math.floor(nowMs / DAY_MS)
  const day = today - 1
  await db.query(
    `INSERT INTO provider_days (provider_id, model, day, requests, failures, timed, first_output_ms)
     SELECT m.provider_id, m.model, $1, sum(m.requests), sum(m.errors + m.stalls), sum(m.timed), sum(m.first_output_ms)
     FROM provider_measures m
     WHERE m.minute >= $1 * 1440 AND m.minute < ($1 + 1) * 1440 AND (
       SELECT count(DISTINCT r.account_id) FROM receipts r
       WHERE r.provider = m.provider_id AND r.provider LIKE 'prov\\_%' AND r.model = m.model
         AND r.request_id >= request_id_at(to_timestamp($1 * 86400)) AND r.request_id < request_id_at(to_timestamp(($1 + 1) * 86400))
     ) >= $2
     GROUP BY 1, 2 ON CONFLICT DO NOTHING`,
    [day, limits.statsAccountsMin],
  )
}
