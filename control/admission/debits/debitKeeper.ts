import type { Logger } from 'pino'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { debitsKey, SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../../contract/wire/redisShards.ts'
import { markDirty } from '../../book/settlement/dirtyShards.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'
import { type DebitRecord, readDebits } from '../debitRecord.ts'
import type { AdmissionLimits } from '../limits.ts'
import { answersOf } from '../scripts.ts'
import type { Debits } from './debit.ts'

/** Gives back the amount of a debit when its process died before booking it or giving it back. */
export class DebitKeeper {
  private readonly pool: Pool
  private readonly redis: Redis
  private readonly log: Logger
  private readonly debits: Debits
  private readonly loop: Loop
  private readonly limits: AdmissionLimits

  constructor(options: { pool: Pool; redis: Redis; log: Logger; debits: Debits; limits: AdmissionLimits }) {
    this.limits = options.limits
    this.pool = options.pool
    this.redis = options.redis
    this.log = options.log
    this.debits = options.debits
    this.loop = new Loop('left debits', options.limits.debitCheckMs, options.log, async (signal) => {
      if (options.redis.status === 'ready') await this.pass(signal)
    })
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const pipeline = pipelineOf(this.redis)
    for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.hlen(debitsKey(shard))
    const sizes = answersOf(await pipeline.exec())
    const oldestMs = (await redisNowMs(this.redis)) - this.limits.debitVoidMs
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      if (sizes[shard] === 0) continue
      for await (const page of readDebits(this.redis, shard)) {
        if (signal.aborted) return
        await this.end(page.filter((debit) => debit.takenAtMs < oldestMs))
      }
    }
    await this.forgetVoided()
  }

  private async end(left: readonly DebitRecord[]): Promise<void> {
    if (left.length === 0) return
    const found = await this.pool.query<{ id: string; is_told: boolean }>(
      `SELECT d.id, NOT EXISTS (SELECT 1 FROM admission_events e WHERE e.debit_id = d.id) AS is_told
       FROM debits d WHERE d.id = ANY ($1::text[]) AND NOT d.voided`,
      [textArray(left.map((debit) => debit.debitId))],
    )
    const booked = new Map(found.rows.map((row) => [row.id, row.is_told]))
    for (const { debitId, accountId, units, keyId, platformKeyId, takenAtMs, shard } of left) {
      const isTold = booked.get(debitId)
      if (isTold === undefined) {
        const platform = platformKeyId === '' ? {} : { platform: { keyId: platformKeyId, caps: NO_CAPS } }
        const spender = keyId === '' ? {} : { spender: { keyId, caps: NO_CAPS, ...platform } }
        const gone = await this.debits.void({ id: debitId, accountId, units, ...spender }, takenAtMs)
        if (gone) logEvent(this.log, 'debit_released', { debit: debitId, account: accountId, units })
      } else if (isTold) {
        // The event has been applied and should have ended it, so this shard differs from the book.
        logEvent(this.log, 'debit_still_reserved', { debit: debitId, shard })
        await markDirty(this.pool, [shard], 'booked debit')
      }
    }
  }

  private async forgetVoided(): Promise<void> {
    await this.pool.query(
      `DELETE FROM debits WHERE id IN (SELECT id FROM debits
         WHERE voided AND at < now() - make_interval(secs => $1) LIMIT $2)`,
      [this.limits.debitVoidKeptMs / 1_000, this.limits.housekeepingBatchMax],
    )
  }
}
