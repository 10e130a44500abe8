import type { Logger } from 'pino'
import type { Redis } from '../../../contract/wire/redis.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import type { IdentityLimits } from '../limits.ts'

/** Announces changes that were not announced: their process crashed after the commit, Redis was down, or SQL made them. */
export class KeyAnnouncer {
  private readonly pool: Pool
  private readonly redis: Redis
  private readonly loop: Loop
  private readonly limits: IdentityLimits

  constructor(options: { pool: Pool; redis: Redis; log: Logger; limits: IdentityLimits }) {
    this.limits = options.limits
    this.pool = options.pool
    this.redis = options.redis
    this.loop = new Loop('changes of keys', options.limits.keyChangePollMs, options.log, () => this.pass())
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(): Promise<void> {
    if (!(await announceKeyChanges(this.pool, this.redis, this.limits))) this.loop.wake()
  }
}
