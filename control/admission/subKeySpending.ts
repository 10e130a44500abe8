import type { Queryable } from '../runtime/db/pool.ts'
import { type KeySpending, spendingColumns } from './keySpending.ts'
import type { Windows } from './windows.ts'

/** The total charges of the sub-keys of one platform key. */
export interface SubKeySpending extends KeySpending {
  readonly platformKeyId: string
}

interface Row extends KeySpending {
  readonly key_id: string
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
  const found = await db.query<Row>(
    `SELECT k.platform_key_id AS key_id, ${spendingColumns(windows, 'u.hour')}
     FROM sub_keys k JOIN key_usage u USING (key_id)
     WHERE ($1::smallint IS NULL OR u.shard = $1)
     GROUP BY k.platform_key_id`,
    [shard],
  )
  return found.rows.map(({ key_id, ...spending }) => ({ platformKeyId: key_id, ...spending }))
}
