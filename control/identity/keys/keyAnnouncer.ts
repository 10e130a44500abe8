import type { Logger } from 'pino'
import type { Redis } from '../../../contract/wire/redis.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import { noteAllAnnounced } from '../../runtime/bus/keptKeyRecords.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'
import type { IdentityLimits } from '../limits.ts'

interface KeyAnnouncerParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly limits: IdentityLimits
}

/** Announces changes that were not announced: their process crashed after the commit, Redis was down, or SQL made them. */
export function keyAnnouncer({ pool, redis, log, limits }: KeyAnnouncerParts): Loop {
  let noteDueMs = 0
  return new Loop('changes of keys', limits.keyChangePollMs, log, async () => {
    const beganMs = performance.now()
    // Before the outbox is read: a change that is committed later counts as not announced.
    const nowMs = beganMs < noteDueMs ? undefined : await redisNowMs(redis)
    if (!(await announceKeyChanges(pool, redis, limits))) return true
    if (nowMs === undefined) return false
    await noteAllAnnounced(redis, nowMs, limits)
    noteDueMs = beganMs + limits.keyChangeNoteMs
    return false
  })
}
