import type { Logger } from 'pino'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { CatalogLimits } from '../limits.ts'
import { syncStatus } from './statusRecord.ts'

interface StatusKeeperParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly limits: CatalogLimits
}

/**
 * Keeps the incidents that the proxies know equal to those of the book: after a data loss in Redis, when a command ended
 * between the book and Redis, and when an incident has been over for long.
 */
export function statusKeeper({ pool, redis, log, limits }: StatusKeeperParts): Loop {
  const loop = new Loop('incidents', limits.statusCheckMs, log, async () => {
    if (redis.status === 'ready' && (await syncStatus(pool, redis, limits))) logEvent(log, 'incidents_changed')
  })
  redis.on('ready', () => loop.wake())
  return loop
}
