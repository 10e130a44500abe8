import { dropPartition, recordArchive } from '../../book/partitions/archives.ts'
import { daysOf, hourSumsOf, hoursOf, outcomesOf, tagSumsOf } from '../../book/usage/receiptSums.ts'
import { LOG_COUNT } from '../../book/usagelog/head.ts'
import { servedReceipts } from '../../products/marketplace/serving/servedReceipts.ts'
import { referredCharges } from '../../products/transfers/referrals/referredCharges.ts'
import { intArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { privateReceipts } from '../receipts/privateReceipts.ts'
import { ArchiveError } from './archiveError.ts'
import type { Manifest } from './archiveFile.ts'
import { identifier, type KeptMonth } from './refusals.ts'

/** Statements that keep the sums of a month's receipts in the book; $1 names the month. */
const KEPT = (partition: string): readonly string[] => [
  `INSERT INTO archived_usage_days SELECT $1, days.* FROM (${daysOf(partition)}) AS days`,
  `INSERT INTO archived_usage_outcomes SELECT $1, outcomes.* FROM (${outcomesOf(partition)}) AS outcomes`,
  `INSERT INTO archived_usage_hours SELECT $1, hourly.* FROM (${hourSumsOf(partition)}) AS hourly`,
  `INSERT INTO archived_usage_tags SELECT $1, tagged.* FROM (${tagSumsOf(partition)}) AS tagged`,
  `INSERT INTO archived_key_usage SELECT $1, hours.* FROM (${hoursOf(partition)}) AS hours`,
  `INSERT INTO archived_lock_uses
   SELECT $1, lock_series, sum(lock_units) FROM ${partition} WHERE lock_units > 0 GROUP BY lock_series`,
  `INSERT INTO archived_referrals SELECT $1, f.id, sum(t.units) FROM ${referredCharges(partition)} GROUP BY f.id`,
  `INSERT INTO archived_provider_receipts
   SELECT $1, a.id, count(*), sum(r.charge_units), sum(d.due_micros) FROM ${servedReceipts(partition)} GROUP BY a.id`,
  `INSERT INTO archived_attestations
   SELECT $1, attestation, provider, model, sheet_version, count(*), min(held_at_ms), max(held_at_ms)
   FROM ${privateReceipts(partition)} GROUP BY attestation, provider, model, sheet_version`,
  `INSERT INTO archived_requests
   SELECT request_id, status, error_code, charge_units, voided FROM ${partition} r
   WHERE $1::text IS NOT NULL AND (EXISTS (SELECT FROM payments p WHERE p.id = r.request_id)
     OR EXISTS (SELECT FROM batch_jobs j WHERE j.id = r.request_id))`,
]

/**
 * Removes a month from the database whose file is written and checked: one transaction stores its sums and the name of the
 * file, and drops its partition.
 * @throws ArchiveError when the month has got receipts since it was written; the database error 55P03 while other transactions
 * keep reading receipts: retry then
 */
export function dropMonth(pool: Pool, kept: KeptMonth, manifest: Manifest, limits: RecordsLimits): Promise<void> {
  const partition = identifier(kept.partition)
  return withTransaction(pool, async (client) => {
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query(`SET LOCAL lock_timeout = ${limits.archiveLockMs}`)
    await lockUntilCommit(client, 'receiptMonths')
    locking(client, 'receipts', () => [partition])
    await client.query(`LOCK TABLE ${partition} IN SHARE MODE`)
    await requireSame(client, partition, manifest)
    for (const sql of KEPT(partition)) await client.query(sql, [kept.month])
    await recordArchive(client, {
      month: kept.month,
      fromId: kept.fromId,
      untilId: kept.untilId,
      file: manifest.file,
      sha256: manifest.sha256,
      receipts: manifest.receipts,
      chargeUnits: manifest.charge_units,
    })
    // Last, because it blocks reads and bookings until the commit.
    await dropPartition(client, kept.month, partition)
  })
}

/** Receipts are only appended to their logs: there are new ones if one lies after the last one in the file. */
async function requireSame(client: Client, partition: string, { month, logs }: Manifest): Promise<void> {
  const last = new Map(logs.map((part) => [part.log, part.last]))
  const all = Array.from({ length: LOG_COUNT }, (_, log) => log)
  const found = await client.query(
    `SELECT FROM unnest($1::smallint[], $2::bigint[]) AS n (log, last)
     WHERE EXISTS (SELECT FROM ${partition} r WHERE r.log = n.log AND r.position > n.last) LIMIT 1`,
    [intArray(all), intArray(all.map((log) => last.get(log) ?? -1))],
  )
  if (found.rowCount !== 0) throw new ArchiveError(`${month} has got receipts since it was written; archive it again`)
}
