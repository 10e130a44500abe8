import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** States of an admission: on probation, in full service, out of service for a time, or removed. */
export const ADMISSION_STATES = ['probation', 'serving', 'suspended', 'removed'] as const
export type AdmissionState = (typeof ADMISSION_STATES)[number]

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
export interface Admission extends Terms {
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

interface AdmissionRow {
  readonly id: string
  readonly provider_id: string
  readonly account_id: string
  readonly model: string
  readonly upstream_model: string
  readonly share_ppm: number | null
  readonly input_price: number | null
  readonly cached_input_price: number | null
  readonly output_price: number | null
  readonly canary_ppm: number
  readonly full_ppm: number
  readonly probation_ms: number
  readonly probation_requests: number
  readonly error_ppm_max: number
  readonly first_output_max_ms: number
  readonly mismatch_ppm_max: number
  readonly state: AdmissionState
  readonly state_at: Date
  readonly reason: string
  readonly suspensions: number
  readonly resumes_at: Date | null
  readonly admitted_at: Date
  readonly suspended_ms: number
  readonly receipts: number
  readonly earned_units: number
  readonly earned_nanos: number
}

function payOf(row: AdmissionRow): Pay {
  if (row.share_ppm !== null) return { kind: 'share', ppm: row.share_ppm }
  const [input, cachedInput, output] = [row.input_price ?? 0, row.cached_input_price ?? 0, row.output_price ?? 0]
  return { kind: 'price', input, cachedInput, output }
}

function asAdmission(row: AdmissionRow): Admission {
  return {
    id: row.id,
    providerId: row.provider_id,
    accountId: row.account_id,
    model: row.model,
    upstreamModel: row.upstream_model,
    pay: payOf(row),
    canaryPpm: row.canary_ppm,
    fullPpm: row.full_ppm,
    probationMs: row.probation_ms,
    probationRequests: row.probation_requests,
    errorPpmMax: row.error_ppm_max,
    firstOutputMaxMs: row.first_output_max_ms,
    mismatchPpmMax: row.mismatch_ppm_max,
    state: row.state,
    stateAtMs: row.state_at.getTime(),
    reason: row.reason,
    suspensions: row.suspensions,
    resumesAtMs: row.resumes_at?.getTime() ?? null,
    admittedAtMs: row.admitted_at.getTime(),
    suspendedMs: row.suspended_ms,
    receipts: row.receipts,
    earnedUnits: row.earned_units,
    earnedNanos: row.earned_nanos,
  }
}

/**
 * Reads admissions in the order of their ids.
 * @param where SQL of a condition on provider_admissions
 * @param behind SQL after the ORDER BY, such as a lock
 */
async function readAdmissions(db: Queryable, where: string, values: unknown[], behind = ''): Promise<Admission[]> {
  const found = await db.query<AdmissionRow>(
    `SELECT * FROM provider_admissions WHERE ${where} ORDER BY id ${behind}`,
    values,
  )
  return found.rows.map(asAdmission)
}

/** All that are not removed, locked until the end of the transaction. */
export function lockOpenAdmissions(db: Queryable): Promise<Admission[]> {
  locking(db, 'providerAdmissions')
  return readAdmissions(db, `state <> 'removed'`, [], 'FOR NO KEY UPDATE')
}

/** All that are not removed. */
export function openAdmissions(db: Queryable): Promise<Admission[]> {
  return readAdmissions(db, `state <> 'removed'`, [])
}

/** The admissions of some providers, including removed ones. */
export function admissionsOf(db: Queryable, providerIds: readonly string[]): Promise<Admission[]> {
  return readAdmissions(db, 'provider_id = ANY ($1::text[])', [[...providerIds]])
}

/** The admissions of an account, including removed ones. */
export function admissionsOfAccount(db: Queryable, accountId: string): Promise<Admission[]> {
  return readAdmissions(db, 'account_id = $1', [accountId])
}

/** Locks and returns a provider's admissions that are not removed. @param model of one model only; undefined for all */
export function lockAdmissions(db: Queryable, providerId: string, model: string | undefined): Promise<Admission[]> {
  const where = `provider_id = $1 AND ($2::text IS NULL OR model = $2) AND state <> 'removed'`
  locking(db, 'providerAdmissions')
  return readAdmissions(db, where, [providerId, model ?? null], 'FOR NO KEY UPDATE')
}

/** Of a million eligible requests to its model, how many a provider is asked first for. */
export function trafficPpm({ state, canaryPpm, fullPpm }: Pick<Admission, 'state' | 'canaryPpm' | 'fullPpm'>): number {
  if (state === 'probation') return canaryPpm
  return state === 'serving' ? fullPpm : 0
}
