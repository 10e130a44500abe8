import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { limits } from '../../../contract/limits/limits.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'

/** Announces changes whose maker could not: it died after the commit, or Redis was away, or they were made by SQL alone. */
export class KeyAnnouncer {
  private readonly pool: Pool
  private readonly redis: Redis
  private readonly loop: Loop

  constructor(options: { pool: Pool; redis: Redis; log: Logger }) {
    this.pool = options.pool
    this.redis = options.redis
    this.loop = new Loop('changes of keys', limits.keyChangePollMs, options.log, () => this.pass())
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(): Promise<void> {
    if (!(await announceKeyChanges(this.pool, this.redis))) this.loop.wake()
  }
}
