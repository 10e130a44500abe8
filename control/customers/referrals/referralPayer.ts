import type { Logger } from 'pino'
import { limits } from '../../../contract/limits/limits.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import { payShares } from './share.ts'

/** Pays referrers what is due, a stretch of the usage log after the other. */
export class ReferralPayer {
  private readonly loop: Loop

  constructor({ pool, log }: { pool: Pool; log: Logger }) {
    this.loop = new Loop('referrals', limits.referralPayMs, log, async () => {
      if (await payShares(pool)) this.loop.wake()
    })
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }
}
