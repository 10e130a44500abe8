import { LOG_COUNT } from '../book/usagelog/head.ts'
import type { Client } from '../runtime/db/pool.ts'
import { addAllCharges, addAllReceipts, addReceipts, addReferred, ReceiptFindings } from './addReceipts.ts'
import type { AuditMark } from './auditMark.ts'
import type { AuditCheck } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { addArchives, addStrays, findRepeated, findStrays } from './otherCharges.ts'
import type { Progress } from './progress.ts'
import { analyzeSums } from './sumTables.ts'

/**
 * Compares receipts with their charges, chunk by chunk, and adds up the sums that later checks compare.
 * @param mark to continue from
 * @returns the checks of single receipts
 */
export async function checkCharges(
  client: Client,
  mark: AuditMark | undefined,
  progress: Progress,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  const findings = new ReceiptFindings()
  const from = mark?.logs.slice(0, LOG_COUNT).map(({ size }) => size)
  if (mark === undefined) await addAll(client, findings, progress, limits)
  else {
    await addReceipts(client, from ?? [], findings, progress, limits)
    await addArchives(client, mark.archives, false, findings.booked, limits)
    await addStrays(client, mark.since, findings.booked, limits)
  }
  await addReferred(client, mark?.cursors ?? [], limits)
  await findRepeated(client, from, findings, limits)
  await analyzeSums(client)
  const receipts = mark === undefined ? `${findings.receipts} receipts` : `${findings.receipts} new receipts`
  return [
    findings.booked.check('every charge is booked in full', receipts),
    findings.ended.check('every request ended once', `${receipts}, ${findings.voided} of them voided`),
    findings.exceeding.check('no charge exceeds its hold', receipts),
  ]
}

async function addAll(
  client: Client,
  findings: ReceiptFindings,
  progress: Progress,
  limits: AuditLimits,
): Promise<void> {
  await addAllReceipts(client, findings, progress, limits)
  const charges = await addAllCharges(client, limits)
  const archived = await addArchives(client, [], true, findings.booked, limits)
  // Looking for the receipt of every charge takes long, and only finds something when there are more charges than receipts have.
  if (charges !== findings.transfers + archived) await findStrays(client, findings.booked, limits)
}
