import { createHash } from 'node:crypto'
import { policyDigest } from '../../evidence/attestationPolicy.ts'
import type { EvidenceFault } from '../../evidence/evidenceError.ts'
import type { Verified } from '../../evidence/verifyEvidence.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'

/** The verdict on an answer. */
export type Verdict =
  | ({ readonly verdict: 'verified' } & Verified)
  | { readonly verdict: 'refused'; readonly fault: EvidenceFault; readonly reason: string }
  | { readonly verdict: 'unreachable'; readonly reason: string }

/** An answer of a provider, with the verdict on it. Times are milliseconds since 1970. */
export interface NewReport {
  readonly id: string
  readonly provider: string
  /** The text of the policy. */
  readonly policy: string
  readonly nonce: string
  readonly fetchedAtMs: number
  readonly validUntilMs: number
  /** Byte for byte; empty where there was none. */
  readonly evidence: Buffer
  readonly outcome: Verdict
}

/** A report as it is kept. */
export interface StoredReport {
  readonly id: string
  readonly provider: string
  readonly policy: string
  readonly policySha256: string
  readonly nonce: string
  readonly verdict: Verdict['verdict']
  /** '' for a verified one, `unreachable` for one without an answer. */
  readonly fault: string
  readonly reason: string
  /** JSON, or null. */
  readonly measurements: string | null
  readonly reportData: string
  readonly tcb: string
  readonly fetchedAt: Date
  readonly validUntil: Date
  readonly evidenceSha256: string
}

const COLUMNS = `id, provider, policy, policy_sha256 AS "policySha256", nonce, verdict, fault, reason, measurements,
  report_data AS "reportData", tcb, fetched_at AS "fetchedAt", valid_until AS "validUntil", evidence_sha256 AS "evidenceSha256"`

/**
 * Keeps a report, a verified one for good. Of refusals in a row only the first keeps its evidence, unless it is long, so that no
 * provider fills the table.
 */
export async function insertReport(
  db: Queryable,
  report: NewReport,
  limits: Pick<CatalogLimits, 'attestationRefusedBytesMax'>,
): Promise<void> {
  const { outcome } = report
  const evidence = (await keepsEvidence(db, report, limits)) ? report.evidence : Buffer.alloc(0)
  const fault = outcome.verdict === 'refused' ? outcome.fault : outcome.verdict === 'unreachable' ? 'unreachable' : ''
  const isVerified = outcome.verdict === 'verified'
  await db.query(
    `INSERT INTO attestation_reports (id, provider, policy, policy_sha256, nonce, verdict, fault, reason, measurements,
       report_data, tcb, fetched_at, valid_until, evidence, evidence_sha256)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      report.id,
      report.provider,
      report.policy,
      policyDigest(report.policy),
      report.nonce,
      outcome.verdict,
      fault,
      isVerified ? '' : outcome.reason,
      isVerified ? JSON.stringify(outcome.measurements) : null,
      isVerified ? outcome.reportData : '',
      isVerified ? outcome.tcb : '',
      new Date(report.fetchedAtMs),
      new Date(report.validUntilMs),
      evidence,
      createHash('sha256').update(evidence).digest('hex'),
    ],
  )
}

async function keepsEvidence(
  db: Queryable,
  { provider, evidence, outcome }: NewReport,
  { attestationRefusedBytesMax }: Pick<CatalogLimits, 'attestationRefusedBytesMax'>,
): Promise<boolean> {
  if (outcome.verdict !== 'refused') return true
  if (evidence.length > attestationRefusedBytesMax) return false
  const found = await db.query<{ verdict: Verdict['verdict'] }>(
    `SELECT verdict FROM attestation_reports WHERE provider = $1 AND verdict <> 'unreachable' ORDER BY id DESC LIMIT 1`,
    [provider],
  )
  return found.rows[0]?.verdict !== 'refused'
}

/**
 * Removes reports of a provider that proved nothing and are older than a time, but for the last refusal before each verified
 * report, which says since when the provider is verified.
 */
export async function forgetRefused(db: Queryable, provider: string, beforeMs: number): Promise<void> {
  await db.query(
    `DELETE FROM attestation_reports r WHERE provider = $1 AND fetched_at < $2 AND verdict <> 'verified'
       AND EXISTS (SELECT FROM attestation_reports WHERE provider = $1 AND id > r.id)
       AND (verdict = 'unreachable' OR 'refused' = (SELECT n.verdict FROM attestation_reports n
         WHERE n.provider = $1 AND n.id > r.id AND n.verdict <> 'unreachable' ORDER BY n.id LIMIT 1))`,
    [provider, new Date(beforeMs)],
  )
}

/** The last report of a provider, with any verdict. */
export async function lastReport(db: Queryable, provider: string): Promise<StoredReport | undefined> {
  const found = await db.query<StoredReport>(
    `SELECT ${COLUMNS} FROM attestation_reports WHERE provider = $1 ORDER BY id DESC LIMIT 1`,
    [provider],
  )
  return found.rows[0]
}

/** A report by its id, with the evidence. */
export async function reportOf(
  db: Queryable,
  id: string,
): Promise<(StoredReport & { readonly evidence: Buffer }) | undefined> {
  const found = await db.query<StoredReport & { evidence: Buffer }>(
    `SELECT ${COLUMNS}, evidence FROM attestation_reports WHERE id = $1`,
    [id],
  )
  return found.rows[0]
}

/**
 * Since when a provider is verified without a gap up to a report: after the last rejected one, and after the last time at which
 * the report before had expired.
 * @param report the id of a verified one
 */
export async function verifiedSince(db: Queryable, provider: string, report: string): Promise<Date | undefined> {
  const found = await db.query<{ since: Date | null }>(
    `WITH run AS (
       SELECT fetched_at, lag(valid_until) OVER (ORDER BY id) AS before FROM attestation_reports
       WHERE provider = $1 AND id <= $2 AND verdict = 'verified' AND id > coalesce(
         (SELECT max(id) FROM attestation_reports WHERE provider = $1 AND id < $2 AND verdict = 'refused'), ''))
     SELECT max(fetched_at) AS since FROM run WHERE before IS NULL OR before < fetched_at`,
    [provider, report],
  )
  return found.rows[0]?.since ?? undefined
}
