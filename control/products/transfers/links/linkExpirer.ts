import type { Logger } from 'pino'
import { cursorBehind, eachApart } from '../../../chain/eachApart.ts'
import { type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { TransfersLimits } from '../limits.ts'
import { expireLink, overdueLinks } from './links.ts'

/**
 * Expires unclaimed links and returns their coin to the accounts that made them. One that an account is too full for waits until
 * there is room.
 */
export function linkExpirer({ pool, log, limits }: { pool: Pool; log: Logger; limits: TransfersLimits }): Loop {
  let after = ''
  return new Loop('overdue links', limits.linkExpiryMs, log, async (signal) => {
    const overdue = await overdueLinks(pool, limits.housekeepingBatchMax, after)
    after = cursorBehind(overdue, limits.housekeepingBatchMax, (id) => id)
    await eachApart(overdue, signal, async (id) => {
      await withTransaction(pool, (client) => expireLink(client, id))
    })
    return overdue.length === limits.housekeepingBatchMax
  })
}
