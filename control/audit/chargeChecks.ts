import { LOG_COUNT } from '../book/usagelog/head.ts'
import type { Limits } from '../limits.ts'
import type { Client } from '../runtime/db/pool.ts'
import { addReceipts, addReferred, ReceiptFindings } from './addReceipts.ts'
import type { AuditMark } from './auditMark.ts'
import type { AuditCheck } from './check.ts'
import { addArchives, addStrays, countCharges, findRepeated } from './otherCharges.ts'
import type { Progress } from './progress.ts'
import { analyzeSums } from './sumTables.ts'

/** What is found of receipts one by one. */
export interface ChargeChecks {
  readonly booked: AuditCheck
  readonly ended: AuditCheck
  readonly exceeding: AuditCheck
}

/**
 * Compares receipts with their charges, a chunk after the other, and adds up what later checks compare.
 * @param mark to go on from
 */
export async function checkCharges(
  client: Client,
  mark: AuditMark | undefined,
  progress: Progress,
  limits: Limits,
): Promise<ChargeChecks> {
  const findings = new ReceiptFindings()
  const from = mark?.logs.slice(0, LOG_COUNT).map(({ size }) => size)
  await addReceipts(client, from ?? [], findings, progress, limits)
  await addReferred(client, mark?.cursors ?? [], limits)
  const archived = await addArchives(client, mark?.archives ?? [], mark === undefined, findings.booked, limits)
  // Looking for the receipt of every charge takes long, and only finds something when there are more charges than receipts have.
  const isStray = mark === undefined && (await countCharges(client, limits)) !== findings.transfers + archived
  if (mark !== undefined || isStray) await addStrays(client, mark?.since ?? '-infinity', findings.booked, limits)
  await findRepeated(client, from, findings, limits)
  await analyzeSums(client)
  const receipts = mark === undefined ? `${findings.receipts} receipts` : `${findings.receipts} new receipts`
  return {
    booked: findings.booked.check('every charge is booked in full', receipts),
    ended: findings.ended.check('every request ended once', `${receipts}, ${findings.voided} of them voided`),
    exceeding: findings.exceeding.check('no charge exceeds its hold', receipts),
  }
}
