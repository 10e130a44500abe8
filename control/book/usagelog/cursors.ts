import { intArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { firstOf, type Stretch, sizeOf } from './stretches.ts'

/**
 * Counts the next receipts of the usage logs and advances the cursors of the caller, in the caller's transaction: every receipt
 * counts exactly once, even if processes count concurrently or crash.
 * @param table of the cursors, (log, position) of every log
 * @param most receipts that are counted in one step
 * @param counts whether any receipt counts; called once the ends of the logs are known. If none does, the cursors skip to the
 *   ends
 * @param count counts some stretches
 * @returns whether a log continues after its stretch
 */
export async function countAlong(
  client: Client,
  table: 'provider_cursors' | 'referral_cursors' | 'usage_outcome_cursors' | 'export_cursors',
  most: number,
  counts: () => Promise<boolean>,
  count: (stretches: readonly Stretch[]) => Promise<void>,
): Promise<boolean> {
  locking(client, 'cursors', () => [table])
  await client.query(`SELECT 1 FROM ${table} ORDER BY log FOR UPDATE`)
  const found = await client.query<Stretch>(
    `SELECT log, c.position AS "from", h.size AS "to" FROM ${table} c JOIN usage_log_heads h USING (log)
     WHERE h.size > c.position ORDER BY log`,
  )
  const uncounted = found.rows
  if (uncounted.length === 0) return false
  const isCounted = await counts()
  const stretches = isCounted ? firstOf(uncounted, most) : uncounted
  if (isCounted) await count(stretches)
  await client.query(
    `UPDATE ${table} c SET position = s.position
     FROM unnest($1::smallint[], $2::bigint[]) AS s (log, position) WHERE c.log = s.log`,
    [intArray(stretches.map(({ log }) => log)), intArray(stretches.map(({ to }) => to))],
  )
  return sizeOf(stretches) < sizeOf(uncounted)
}
