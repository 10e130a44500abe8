import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'

/** A month of receipts that was archived. */
export interface Archive {
  readonly month: string
  readonly file: string
  readonly sha256: string
  readonly receipts: number
  readonly archivedAt: Date
}

const COLUMNS = 'month, file, sha256, receipts, archived_at AS "archivedAt"'

/** All months that were archived, the earliest first. */
export async function listArchives(db: Queryable): Promise<Archive[]> {
  return (await db.query<Archive>(`SELECT ${COLUMNS} FROM receipt_archives ORDER BY until_id`)).rows
}

/**
 * Rejects reads of archived months, which would otherwise return nothing.
 * @param least,below the ids that are read: from the first up to but without the last
 * @throws GatewayError receipt_archived when a month among them was archived
 */
export async function requireKept(db: Queryable, least: string, below: string): Promise<void> {
  const found = await db.query<Archive>(
    `SELECT ${COLUMNS} FROM receipt_archives WHERE from_id < $2 AND until_id > $1 ORDER BY until_id DESC LIMIT 1`,
    [least, below],
  )
  const [archive] = found.rows
  if (archive === undefined) return
  const { month, file, sha256, archivedAt } = archive
  const message =
    `Receipts up to ${month} were put into the archive ${file} on ${archivedAt.toISOString().slice(0, 10)} ` +
    `(SHA-256 ${sha256}); ask the operator for it. Their leaves are in the tiles of the usage logs as before.`
  throw new GatewayError('receipt_archived', { message })
}

/** A month that is put into a file: the ids from the first up to but without the last, and what is in the file. */
export interface ArchivedMonth {
  readonly month: string
  readonly fromId: string
  readonly untilId: string
  readonly file: string
  readonly sha256: string
  readonly receipts: number
  readonly chargeUnits: number
}

export async function recordArchive(client: Client, archived: ArchivedMonth): Promise<void> {
  const { month, fromId, untilId, file, sha256, receipts, chargeUnits } = archived
  await client.query(
    `INSERT INTO receipt_archives (month, from_id, until_id, file, sha256, receipts, charge_units)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [month, fromId, untilId, file, sha256, receipts, chargeUnits],
  )
}

/** Drops the receipts of a month. @param partition its name, quoted for SQL */
export async function dropPartition(client: Client, month: string, partition: string): Promise<void> {
  await client.query('DELETE FROM receipt_months WHERE month = $1', [month])
  await client.query(`ALTER TABLE receipts DETACH PARTITION ${partition}`)
  await client.query(`DROP TABLE ${partition}`)
}
