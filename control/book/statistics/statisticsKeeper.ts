import type { Logger } from 'pino'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import type { BookLimits } from '../limits.ts'
import { countOutcomes } from './countOutcomes.ts'
import { countReceipts } from './countReceipts.ts'

/** Counts receipts for the public statistics and the sums of usage that booking does not keep, one stretch of the usage logs at a time. */
export function statisticsKeeper({ pool, log, limits }: { pool: Pool; log: Logger; limits: BookLimits }): Loop {
  return new Loop('statistics', limits.statisticsMs, log, async () => {
    const isMore = await countReceipts(pool, limits)
    return (await countOutcomes(pool, limits)) || isMore
  })
}
