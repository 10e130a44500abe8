import type { Logger } from 'pino'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { debitsKey, SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../../contract/wire/redisShards.ts'
import { markDirty } from '../../book/settlement/dirtyShards.ts'
import { apart } from '../../runtime/apart.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'
import { type DebitRecord, readDebits } from '../debitRecord.ts'
import type { AdmissionLimits } from '../limits.ts'
import { answersOf } from '../scripts.ts'
import type { Debits } from './debit.ts'

interface DebitKeeperParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly debits: Debits
  readonly limits: AdmissionLimits
}

/** Gives back the amount of a debit when its process died before booking it or giving it back. */
export function debitKeeper(parts: DebitKeeperParts): Loop {
  return new Loop('left debits', parts.limits.debitCheckMs, parts.log, async (signal) => {
    if (parts.redis.status === 'ready') await endLeft(parts, signal)
  })
}

async function endLeft(parts: DebitKeeperParts, signal: AbortSignal): Promise<void> {
  const { redis, limits } = parts
  const pipeline = pipelineOf(redis)
  for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.hlen(debitsKey(shard))
  const sizes = answersOf(await pipeline.exec())
  const oldestMs = (await redisNowMs(redis)) - limits.debitVoidMs
  const shards = [...sizes.keys()].filter((shard) => sizes[shard] !== 0)
  await apart(
    [...shards.map((shard) => () => endShard(parts, shard, oldestMs, signal)), () => forgetVoided(parts)],
    (step) => step(),
    signal,
  )
}

async function endShard(parts: DebitKeeperParts, shard: number, oldestMs: number, signal: AbortSignal): Promise<void> {
  const isLeft = (debit: DebitRecord): boolean => debit.takenAtMs < oldestMs
  await apart(readDebits(parts.redis, shard), (page) => end(parts, page.filter(isLeft)), signal)
}

async function end({ pool, log, debits }: DebitKeeperParts, left: readonly DebitRecord[]): Promise<void> {
  if (left.length === 0) return
  const found = await pool.query<{ id: string; is_told: boolean }>(
    `SELECT d.id, NOT EXISTS (SELECT 1 FROM admission_events e WHERE e.debit_id = d.id) AS is_told
     FROM debits d WHERE d.id = ANY ($1::text[]) AND NOT d.voided`,
    [textArray(left.map((debit) => debit.debitId))],
  )
  const booked = new Map(found.rows.map((row) => [row.id, row.is_told]))
  await apart(left, async ({ debitId, accountId, units, keyId, platformKeyId, takenAtMs, shard }) => {
    const isTold = booked.get(debitId)
    if (isTold === undefined) {
      const platform = platformKeyId === '' ? {} : { platform: { keyId: platformKeyId, caps: NO_CAPS } }
      const spender = keyId === '' ? {} : { spender: { keyId, caps: NO_CAPS, ...platform } }
      const gone = await debits.void({ id: debitId, accountId, units, ...spender }, takenAtMs)
      if (gone) logEvent(log, 'debit_released', { debit: debitId, account: accountId, units })
    } else if (isTold) {
      // The event has been applied and should have ended it, so this shard differs from the book.
      logEvent(log, 'debit_still_reserved', { debit: debitId, shard })
      await markDirty(pool, [shard], 'booked debit')
    }
  })
}

async function forgetVoided({ pool, limits }: DebitKeeperParts): Promise<void> {
  await pool.query(
    `DELETE FROM debits WHERE id IN (SELECT id FROM debits
       WHERE voided AND at < now() - make_interval(secs => $1) LIMIT $2)`,
    [limits.debitVoidKeptMs / 1_000, limits.housekeepingBatchMax],
  )
}
