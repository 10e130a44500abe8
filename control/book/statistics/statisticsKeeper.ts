import type { Logger } from 'pino'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import type { BookLimits } from '../limits.ts'
import { countReceipts } from './countReceipts.ts'

/** Counts receipts for the public statistics, one stretch of the usage logs at a time. */
export class StatisticsKeeper {
  private readonly loop: Loop

  constructor({ pool, log, limits }: { pool: Pool; log: Logger; limits: BookLimits }) {
    this.loop = new Loop('statistics', limits.statisticsMs, log, async () => {
      if (await countReceipts(pool, limits)) this.loop.wake()
    })
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }
}
