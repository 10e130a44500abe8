import type { Logger } from 'pino'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import type { BookLimits } from '../limits.ts'
import { rollUp } from './rollUp.ts'

/** Rolls up the usage of accounts that have much of it, once a day and one account after the other. */
export function rollupKeeper({ pool, log, limits }: { pool: Pool; log: Logger; limits: BookLimits }): Loop {
  return new Loop('usage rollups', limits.usageRollupMs, log, () => rollUp(pool, limits))
}
