import { camelColumns, msColumns } from '../../../runtime/db/columns.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** States of an admission: on probation, in full service, out of service for a time, or removed. */
export type AdmissionState = 'probation' | 'serving' | 'suspended' | 'removed'

/** Whole for rates in 1/1000000. */
export const PPM = 1_000_000

/** The pay of a provider for a request, never more than the charge of the request. */
export type Pay =
  | { readonly kind: 'share'; readonly ppm: number }
  /** Units per million tokens. */
  | { readonly kind: 'price'; readonly input: number; readonly cachedInput: number; readonly output: number }

/** The operator's terms for a provider and a model. */
export interface Terms {
  readonly pay: Pay
  /** Of a million eligible requests, on probation and after it. */
  readonly canaryPpm: number
  readonly fullPpm: number
  readonly probationMs: number
  readonly probationRequests: number
  readonly errorPpmMax: number
  /** 95 of 100 streams have to begin within this. */
  readonly firstOutputMaxMs: number
  readonly mismatchPpmMax: number
}

/** A registered provider that the operator has admitted for a model of the catalog. Times are milliseconds since 1970. */
export interface ProviderAdmission extends Terms {
  readonly id: string
  readonly providerId: string
  readonly accountId: string
  readonly model: string
  readonly upstreamModel: string
  readonly state: AdmissionState
  readonly stateAtMs: number
  readonly reason: string
  readonly suspensions: number
  /** Null if only the operator can end the suspension. */
  readonly resumesAtMs: number | null
  readonly admittedAtMs: number
  readonly suspendedMs: number
  readonly receipts: number
  readonly earnedUnits: number
  readonly earnedNanos: number
}

const COLUMNS = `${camelColumns(`id, provider_id, account_id, model, upstream_model, canary_ppm, full_ppm, probation_ms,
  probation_requests, error_ppm_max, first_output_max_ms, mismatch_ppm_max, state, reason, suspensions, suspended_ms, receipts,
  earned_units, earned_nanos`)}, ${msColumns('state_at, resumes_at, admitted_at')},
  CASE WHEN share_ppm IS NOT NULL THEN json_build_object('kind', 'share', 'ppm', share_ppm)
    ELSE json_build_object('kind', 'price', 'input', input_price, 'cachedInput', cached_input_price, 'output', output_price)
  END AS pay`

/**
 * Reads admissions in the order of their ids.
 * @param where SQL of a condition on provider_admissions
 * @param behind SQL after the ORDER BY, such as a lock
 * @param name of the statement, for PostgreSQL to keep its plan
 */
async function readAdmissions(
  db: Queryable,
  where: string,
  values: unknown[],
  behind = '',
  name?: string,
): Promise<ProviderAdmission[]> {
  const text = `SELECT ${COLUMNS} FROM provider_admissions WHERE ${where} ORDER BY id ${behind}`
  const found = await db.query<ProviderAdmission>({ name, text, values })
  return found.rows
}

/** All that are not removed, locked until the end of the transaction. */
export function lockOpenAdmissions(db: Queryable): Promise<ProviderAdmission[]> {
  locking(db, 'providerAdmissions')
  return readAdmissions(db, `state <> 'removed'`, [], 'FOR NO KEY UPDATE')
}

/** All that are not removed. */
export function openAdmissions(db: Queryable): Promise<ProviderAdmission[]> {
  return readAdmissions(db, `state <> 'removed'`, [], '', 'open_admissions')
}

/** The admissions of some providers, including removed ones. */
export function admissionsOf(db: Queryable, providerIds: readonly string[]): Promise<ProviderAdmission[]> {
  return readAdmissions(db, 'provider_id = ANY ($1::text[])', [[...providerIds]])
}

/** The admissions of an account, including removed ones. */
export function admissionsOfAccount(db: Queryable, accountId: string): Promise<ProviderAdmission[]> {
  return readAdmissions(db, 'account_id = $1', [accountId])
}

/** Locks and returns a provider's admissions that are not removed. @param model of one model only; undefined for all */
export function lockAdmissions(
  db: Queryable,
  providerId: string,
  model: string | undefined,
): Promise<ProviderAdmission[]> {
  const where = `provider_id = $1 AND ($2::text IS NULL OR model = $2) AND state <> 'removed'`
  locking(db, 'providerAdmissions')
  return readAdmissions(db, where, [providerId, model ?? null], 'FOR NO KEY UPDATE')
}

/** Of a million eligible requests to its model, how many a provider is asked first for. */
export function trafficPpm({
  state,
  canaryPpm,
  fullPpm,
}: Pick<ProviderAdmission, 'state' | 'canaryPpm' | 'fullPpm'>): number {
  if (state === 'probation') return canaryPpm
  return state === 'serving' ? fullPpm : 0
}
