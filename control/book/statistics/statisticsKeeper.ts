import type { Logger } from 'pino'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import type { BookLimits } from '../limits.ts'
import { countReceipts } from './countReceipts.ts'

/** Counts receipts for the public statistics and the sums by tag and user, one stretch of the usage logs at a time. */
export function statisticsKeeper({ pool, log, limits }: { pool: Pool; log: Logger; limits: BookLimits }): Loop {
  return new Loop('statistics', limits.statisticsMs, log, () => countReceipts(pool, limits))
}
