import type { Logger } from 'pino'
import type { Pool } from '../../../runtime/db/pool.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { TransfersLimits } from '../limits.ts'
import { payShares } from './share.ts'

/** Pays referrers their shares, one stretch of the usage logs after the other. */
export class ReferralPayer {
  private readonly loop: Loop

  constructor({ pool, log, limits }: { pool: Pool; log: Logger; limits: TransfersLimits }) {
    this.loop = new Loop('referrals', limits.referralPayMs, log, async () => {
      if (await payShares(pool, limits)) this.loop.wake()
    })
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }
}
