import type { Redis } from '../../../contract/wire/redis.ts'
import { listHolds } from '../../admission/listHolds.ts'
import { idTimeMs } from '../../book/partitions/idTime.ts'
import { countOf } from '../../runtime/db/count.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { ArchiveError } from './archiveError.ts'

/** A month that has its receipts in the database. */
export interface KeptMonth {
  readonly month: string
  readonly partition: string
  readonly fromId: string
  readonly untilId: string
}

/** Reasons against archiving a month, each as a query that counts them; $1 and $2 are the ids of the month. */
const OPEN: Readonly<Record<string, string>> = {
  'batch jobs are open': 'SELECT count(*) FROM batch_jobs WHERE id >= $1 AND id < $2 AND ended_at_ms IS NULL',
  'batch jobs are not charged yet': `
    SELECT count(*) FROM batch_jobs j WHERE id >= $1 AND id < $2 AND charge_units > 0
      AND NOT EXISTS (SELECT FROM receipts r WHERE r.request_id = j.id)`,
  'payments are open': `
    SELECT count(*) FROM payments WHERE id >= $1 AND id < $2 AND state IN ('settling', 'paid')`,
  'refunds are open': `
    SELECT count(*) FROM payments p LEFT JOIN refunds f ON f.id = p.refund_id
    WHERE p.id >= $1 AND p.id < $2 AND p.state = 'closed' AND p.back_amount > 0 AND f.state IS DISTINCT FROM 'sent'`,
  'endings were rejected, which the audit names': `
    SELECT count(*) FROM settlement_rejects WHERE $1::text <> $2::text`,
}

/** Up to where receipts are counted that are read from the book for it, by log. */
const COUNTED = [
  ['referral_cursors', 'counted for referrers'],
  ['provider_cursors', 'paid to registered providers'],
  ['usage_outcome_cursors', 'in the usage by provider and outcome'],
  [
    '(SELECT log, least(position, hours_position) AS position FROM statistics_cursors)',
    'in the statistics and the usage by hour and tag',
  ],
] as const

/** The month of this name. @throws ArchiveError where it has no partition */
export async function keptMonth(pool: Pool, month: string): Promise<KeptMonth> {
  const found = await pool.query<KeptMonth>(
    `SELECT month, partition, from_id AS "fromId", until_id AS "untilId" FROM receipt_months
     WHERE until_id > request_id_at(($1 || '-01')::timestamp AT TIME ZONE 'UTC') ORDER BY until_id LIMIT 1`,
    [month],
  )
  const archived = await pool.query<{ file: string }>('SELECT file FROM receipt_archives WHERE month = $1', [month])
  if (archived.rows[0] !== undefined) throw new ArchiveError(`${month} is in the archive ${archived.rows[0].file}`)
  const [kept] = found.rows
  if (kept?.month === month) return kept
  if (kept?.fromId === '') {
    throw new ArchiveError(`all months up to ${kept.month} are together: archive ${kept.month}, which takes them all`)
  }
  throw new ArchiveError(`there are no receipts of ${month}`)
}

/** @throws ArchiveError while something of the month may still change */
export async function requireQuiet(pool: Pool, redis: Redis, kept: KeptMonth, limits: RecordsLimits): Promise<void> {
  const { month, fromId, untilId, partition } = kept
  const overMs = idTimeMs(untilId)
  if (Date.now() < overMs + limits.archiveAgeMinMs) {
    const from = new Date(overMs + limits.archiveAgeMinMs).toISOString()
    throw new ArchiveError(`${month} can be archived from ${from} on, when nothing of it runs any more`)
  }
  for (const [what, sql] of Object.entries(OPEN)) {
    const count = await countOf(pool, sql, [fromId, untilId])
    if (count > 0) throw new ArchiveError(`${month} cannot be archived yet: ${count} ${what}`)
  }
  const held = (await listHolds(redis)).filter(({ requestId }) => requestId >= fromId && requestId < untilId)
  if (held.length > 0) throw new ArchiveError(`${month} cannot be archived yet: ${held[0]?.requestId} is held`)
  for (const [cursors, what] of COUNTED) {
    const uncounted = await pool.query(
      `SELECT FROM ${cursors} AS c WHERE c.position <=
         (SELECT max(position) FROM ${identifier(partition)} r WHERE r.log = c.log) LIMIT 1`,
    )
    if (uncounted.rowCount !== 0) throw new ArchiveError(`${month} cannot be archived yet: not all of it is ${what}`)
  }
  const unwritten = await pool.query('SELECT FROM export_files WHERE written_at IS NULL LIMIT 1')
  if (unwritten.rowCount !== 0) {
    throw new ArchiveError(`${month} cannot be archived yet: not all exports that are planned are written`)
  }
}

/** The name of a partition, checked for use in a statement. @throws Error if it is invalid */
export function identifier(partition: string): string {
  if (!/^receipts_\w+$/.test(partition)) throw new Error(`${partition} is no partition of receipts`)
  return partition
}
