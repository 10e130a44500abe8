import type { Logger } from 'pino'
import { type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { TransfersLimits } from '../limits.ts'
import { expireLink, overdueLinks } from './links.ts'

/** Expires unclaimed links and returns their coin to the accounts that made them. */
export function linkExpirer({ pool, log, limits }: { pool: Pool; log: Logger; limits: TransfersLimits }): Loop {
  return new Loop('overdue links', limits.linkExpiryMs, log, async (signal) => {
    const overdue = await overdueLinks(pool, limits.housekeepingBatchMax)
    for (const id of overdue) {
      if (signal.aborted) return false
      await withTransaction(pool, (client) => expireLink(client, id))
    }
    return overdue.length === limits.housekeepingBatchMax
  })
}
