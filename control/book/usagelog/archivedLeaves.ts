import { byteaArray, intArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** Leaves of a log that follow each other. */
export interface StoredLeaves {
  readonly log: number
  /** Of the first one. */
  readonly position: number
  readonly leaves: readonly Buffer[]
}

/** Stores leaves whose receipts leave the database. Leaves never change, so that storing them again does no harm. */
export async function storeArchivedLeaves(db: Queryable, month: string, runs: readonly StoredLeaves[]): Promise<void> {
  await db.query(
    `INSERT INTO archived_leaves (month, log, position, hashes)
     SELECT $4, * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])
     ON CONFLICT (log, position) DO UPDATE SET hashes = excluded.hashes`,
    [
      intArray(runs.map(({ log }) => log)),
      intArray(runs.map(({ position }) => position)),
      byteaArray(runs.map(({ leaves }) => Buffer.concat(leaves))),
      month,
    ],
  )
}
