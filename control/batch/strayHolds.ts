import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { BATCH_OWNER } from '../../contract/wire/redisKeys.ts'
import type { HoldRecord } from '../admission/holdRecord.ts'
import { readHolds, scanHoldsKeys } from '../admission/listHolds.ts'
import { orphanSettlement } from '../admission/orphanSettlement.ts'
import { apart } from '../runtime/apart.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Pool, Queryable } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { redisNowMs } from '../runtime/redisClock.ts'
import type { BatchHolds } from './batchHolds.ts'
import { jobOf } from './jobStore.ts'
import type { BatchLimits } from './limits.ts'
import { endAgain } from './unbooked.ts'

/** The holds without an open job. */
export async function strayAmong(db: Queryable, holds: readonly HoldRecord[]): Promise<HoldRecord[]> {
  const found = await db.query<{ id: string }>(
    'SELECT id FROM batch_jobs WHERE id = ANY ($1::text[]) AND ended_at_ms IS NULL',
    [textArray(holds.map((hold) => hold.requestId))],
  )
  const open = new Set(found.rows.map((row) => row.id))
  return holds.filter((hold) => !open.has(hold.requestId))
}

export interface StrayHoldsParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly holds: BatchHolds
  readonly log: Logger
  readonly limits: BatchLimits
}

/**
 * Ends holds without an open job. If the job is over, Redis has lost an ending that it had accepted, and the ending is
 * repeated. The other holds never got a job, because their control stalled in between beyond every timeout; they are voided.
 */
export async function endStrayHolds(parts: StrayHoldsParts): Promise<void> {
  const { pool, redis, limits } = parts
  const nowMs = await redisNowMs(redis)
  const isOld = (hold: HoldRecord): boolean => nowMs - hold.heldAtMs > 2 * limits.batchOpenMs
  await apart(await scanHoldsKeys(redis, { owner: BATCH_OWNER }), (key) =>
    apart(readHolds(redis, key), async (page) => {
      const old = page.filter(isOld)
      if (old.length > 0) await apart(await strayAmong(pool, old), (hold) => endStray(parts, hold, nowMs))
    }),
  )
}

async function endStray({ pool, holds, log }: StrayHoldsParts, hold: HoldRecord, nowMs: number): Promise<void> {
  const over = await jobOf(pool, hold.requestId)
  if (over !== undefined) {
    if (over.endedAtMs !== null) await endAgain({ pool, holds, log }, over)
    return
  }
  const job = { id: hold.requestId, accountId: hold.accountId, keyId: hold.keyId }
  await holds.end(job, null, orphanSettlement(hold, nowMs))
  logEvent(log, 'batch_hold_voided', { request: hold.requestId, units: hold.holdUnits })
}
