import type { Logger } from 'pino'
import { type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { TransfersLimits } from '../limits.ts'
import { expireLink, overdueLinks } from './links.ts'

/** Expires unclaimed links and returns their coin to the accounts that made them. */
export class LinkExpirer {
  private readonly loop: Loop

  constructor({ pool, log, limits }: { pool: Pool; log: Logger; limits: TransfersLimits }) {
    this.loop = new Loop('overdue links', limits.linkExpiryMs, log, async (signal) => {
      const overdue = await overdueLinks(pool, limits.housekeepingBatchMax)
      for (const id of overdue) {
        if (signal.aborted) return
        await withTransaction(pool, (client) => expireLink(client, id))
      }
      if (overdue.length === limits.housekeepingBatchMax) this.loop.wake()
    })
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }
}
