import { MAX_UNITS } from '../../contract/money/units.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import type { KeySpending } from './heldParts.ts'
import type { Windows } from './windows.ts'

/** The total charges of the sub-keys of one platform key. */
export interface SubKeySpending extends KeySpending {
  readonly platformKeyId: string
}

interface Row extends KeySpending {
  readonly key_id: string
}

/**
 * SQL of the units that a key has spent, at most what a cap can be: a key that is used for years may spend more than that.
 * @param hours SQL of the condition on the hours that count
 */
export const spent = (hours: string): string => `least(coalesce(sum(units) FILTER (WHERE ${hours}), 0), ${MAX_UNITS})`

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
    `SELECT k.platform_key_id AS key_id, ${spent('true')} AS life, ${spent('u.hour = $1')} AS hour,
       ${spent('u.hour >= $2')} AS day, ${spent('u.hour >= $3')} AS month
     FROM sub_keys k JOIN key_usage u USING (key_id)
     WHERE ($4::smallint IS NULL OR u.shard = $4)
     GROUP BY k.platform_key_id`,
    [hour, dayFirstHour, monthFirstHour, shard],
  )
  return found.rows.map(({ key_id, ...spending }) => ({ platformKeyId: key_id, ...spending }))
}
