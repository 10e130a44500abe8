import { sluice } from '../../../contract/wire/generated/messages.js'
import { policyDigest } from '../../evidence/attestationPolicy.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { currentRecord, insertRecord } from './sheetStore.ts'

/** A verified report that no rejected one followed. */
export interface ProvidersReport {
  readonly id: string
  /** Of the policy that it was verified against. */
  readonly policySha256: string
  /** Milliseconds since 1970. */
  readonly validUntilMs: number
}

/** By the id of the provider. */
export type StandingReports = ReadonlyMap<string, ProvidersReport>

interface Row {
  readonly provider: string
  readonly id: string
  readonly verdict: string
  readonly policy_sha256: string
  readonly valid_until: Date
}

/** The last conclusive answer of each provider on its hardware, if it was verified. */
export async function standingReports(db: Queryable): Promise<StandingReports> {
  const found = await db.query<Row>(
    `SELECT DISTINCT ON (provider) provider, id, verdict, policy_sha256, valid_until
     FROM attestation_reports WHERE verdict <> 'unreachable' ORDER BY provider, id DESC`,
  )
  return new Map(
    found.rows
      .filter(({ verdict }) => verdict === 'verified')
      .map(({ provider, id, policy_sha256: policySha256, valid_until: until }) => [
        provider,
        { id, policySha256, validUntilMs: until.getTime() },
      ]),
  )
}

/** The report in a provider's record; undefined while none is valid for this policy. @param policy its text */
export function standingReport(
  reports: StandingReports,
  provider: string,
  policy: string,
): sluice.StandingReport.$Properties | undefined {
  const report = reports.get(provider)
  if (report === undefined || report.policySha256 !== policyDigest(policy)) return undefined
  return { id: report.id, validUntilMs: report.validUntilMs }
}

/**
 * Puts the standing reports into the catalog in force, in the caller's transaction; Redis gets it from `syncCatalog`.
 * @param nowMs milliseconds since 1970
 */
export async function republishReports(client: Client, nowMs: number): Promise<void> {
  await lockUntilCommit(client, 'publication')
  const before = await currentRecord(client)
  if (before === undefined) return
  const record = sluice.CatalogRecord.decode(before)
  const reports = await standingReports(client)
  for (const provider of record.providers) {
    const report = standingReport(reports, provider.id ?? '', provider.attestation ?? '')
    if (report === undefined) delete provider.report
    else provider.report = report
  }
  const after = Buffer.from(sluice.CatalogRecord.encode(record).finish())
  if (!after.equals(before)) await insertRecord(client, record.version, after, nowMs)
}
