import type { Logger } from 'pino'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { CatalogLimits } from '../limits.ts'
import { syncStatus } from './statusRecord.ts'

/**
 * Keeps the incidents that the proxies know equal to those of the book: after a data loss in Redis, when a command ended
 * between the book and Redis, and when an incident has been over for long.
 */
export class StatusKeeper {
  private readonly redis: Redis
  private readonly loop: Loop

  constructor({ pool, redis, log, limits }: { pool: Pool; redis: Redis; log: Logger; limits: CatalogLimits }) {
    this.redis = redis
    this.loop = new Loop('incidents', limits.statusCheckMs, log, async () => {
      if (redis.status === 'ready' && (await syncStatus(pool, redis, limits))) logEvent(log, 'incidents_changed')
    })
    redis.on('ready', this.wake)
  }

  async stop(): Promise<void> {
    this.redis.off('ready', this.wake)
    await this.loop.stop()
  }

  private readonly wake = (): void => this.loop.wake()
}
