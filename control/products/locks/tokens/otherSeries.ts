import { countOf } from '../../../runtime/db/count.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/**
 * How many other series than one an account holds or bids for. They are listed in its admission state, which every request
 * reads.
 */
export async function countOtherSeries(db: Queryable, accountId: string, seriesId: string): Promise<number> {
  return countOf(
    db,
    `SELECT count(*) FROM (
       SELECT series_id FROM lock_holdings WHERE account_id = $1 AND NOT is_dropped
       UNION SELECT series_id FROM lock_orders WHERE account_id = $1 AND status = 'open'
     ) AS known WHERE series_id <> $2`,
    [accountId, seriesId],
  )
}
