import { intArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** Notes that the admission state of shards differs from the book, so that they are loaded anew. @param reason for the operator */
export async function markDirty(db: Queryable, shards: readonly number[], reason: string): Promise<void> {
  if (shards.length === 0) return
  await db.query(
    `INSERT INTO admission_dirty (shard, reason)
     SELECT shard, $2 FROM unnest($1::smallint[]) AS shard ON CONFLICT DO NOTHING`,
    [intArray(shards), reason],
  )
}

/** The shards that are noted, in their order. */
export async function dirtyShards(db: Queryable): Promise<number[]> {
  const found = await db.query<{ shard: number }>({
    name: 'dirty_shards',
    text: 'SELECT shard FROM admission_dirty ORDER BY shard',
  })
  return found.rows.map((row) => row.shard)
}

/** Forgets what is noted of these shards; of all where none are given. */
export async function unmarkDirty(db: Queryable, shards?: readonly number[]): Promise<void> {
  await db.query('DELETE FROM admission_dirty WHERE $1::smallint[] IS NULL OR shard = ANY ($1)', [
    shards === undefined ? null : intArray(shards),
  ])
}
