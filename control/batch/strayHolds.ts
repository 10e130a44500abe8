import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { BATCH_OWNER } from '../../contract/wire/redisKeys.ts'
import type { HoldRecord } from '../admission/holdRecord.ts'
import { readHolds, scanHoldsKeys } from '../admission/listHolds.ts'
import { orphanSettlement } from '../admission/orphanSettlement.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Pool, Queryable } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { redisNowMs } from '../runtime/redisClock.ts'
import type { BatchHolds } from './batchHolds.ts'
import { jobOf } from './jobStore.ts'
import type { BatchLimits } from './limits.ts'
import { endAgain } from './unbooked.ts'

/** Every hold of a batch job. */
export async function* batchHolds(redis: Redis): AsyncGenerator<HoldRecord[]> {
  for (const key of await scanHoldsKeys(redis, { owner: BATCH_OWNER })) yield* readHolds(redis, key)
}

/** The holds without an open job. */
export async function strayAmong(db: Queryable, holds: readonly HoldRecord[]): Promise<HoldRecord[]> {
  const found = await db.query<{ id: string }>(
    'SELECT id FROM batch_jobs WHERE id = ANY ($1::text[]) AND ended_at_ms IS NULL',
    [textArray(holds.map((hold) => hold.requestId))],
  )
  const open = new Set(found.rows.map((row) => row.id))
  return holds.filter((hold) => !open.has(hold.requestId))
}

/**
 * Ends holds without an open job. If the job is over, Redis has lost an ending that it had accepted, and the ending is
 * repeated. The other holds never got a job, because their control stalled in between beyond every timeout; they are voided.
 */
export async function endStrayHolds({
  pool,
  redis,
  holds,
  log,
  limits,
}: {
  pool: Pool
  redis: Redis
  holds: BatchHolds
  log: Logger
  limits: BatchLimits
}): Promise<void> {
  const nowMs = await redisNowMs(redis)
  for await (const page of batchHolds(redis)) {
    const old = page.filter((hold) => nowMs - hold.heldAtMs > 2 * limits.batchOpenMs)
    if (old.length === 0) continue
    for (const hold of await strayAmong(pool, old)) {
      const over = await jobOf(pool, hold.requestId)
      if (over !== undefined) {
        if (over.endedAtMs !== null) await endAgain({ pool, holds, log }, over)
        continue
      }
      const job = { id: hold.requestId, accountId: hold.accountId, keyId: hold.keyId }
      await holds.end(job, null, orphanSettlement(hold, nowMs))
      logEvent(log, 'batch_hold_voided', { request: hold.requestId, units: hold.holdUnits })
    }
  }
}
