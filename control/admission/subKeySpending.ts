import type { Queryable } from '../runtime/db/pool.ts'
import type { KeySpending } from './heldParts.ts'
import type { Windows } from './windows.ts'

/** The total charges of the sub-keys of one platform key. */
export interface SubKeySpending extends KeySpending {
  readonly platformKeyId: string
  readonly shard: number
}

interface Row extends KeySpending {
  readonly key_id: string
  readonly shard: number
}

/**
 * The charges of sub-keys by the book, added up by platform key without its own charges. They are derived here from the usage
 * of each key, so that the book stores nothing twice.
 * @param shard null for all
 */
export async function readSubKeySpending(
  db: Queryable,
  windows: Windows,
  shard: number | null,
): Promise<SubKeySpending[]> {
  const { hour, dayFirstHour, monthFirstHour } = windows
  const found = await db.query<Row>(
    `SELECT k.platform_key_id AS key_id, min(u.shard) AS shard, sum(u.units) AS life,
       coalesce(sum(u.units) FILTER (WHERE u.hour = $1), 0) AS hour,
       coalesce(sum(u.units) FILTER (WHERE u.hour >= $2), 0) AS day,
       coalesce(sum(u.units) FILTER (WHERE u.hour >= $3), 0) AS month
     FROM api_keys k JOIN key_usage u ON u.key_id = k.id
     WHERE k.platform_key_id IS NOT NULL AND ($4::smallint IS NULL OR u.shard = $4)
     GROUP BY k.platform_key_id`,
    [hour, dayFirstHour, monthFirstHour, shard],
  )
  return found.rows.map(({ key_id, ...spending }) => ({ platformKeyId: key_id, ...spending }))
}
