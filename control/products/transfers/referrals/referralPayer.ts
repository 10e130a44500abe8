import type { Logger } from 'pino'
import type { Pool } from '../../../runtime/db/pool.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { TransfersLimits } from '../limits.ts'
import { payShares } from './share.ts'

/** Pays referrers their shares, one stretch of the usage logs after the other. */
export function referralPayer({ pool, log, limits }: { pool: Pool; log: Logger; limits: TransfersLimits }): Loop {
  return new Loop('referrals', limits.referralPayMs, log, () => payShares(pool, limits))
}
