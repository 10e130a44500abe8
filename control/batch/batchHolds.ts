import type { Redis } from '../../contract/wire/redis.ts'
import { BATCH_OWNER, epochKey, holdsKey, settleKeys, shardOf } from '../../contract/wire/redisKeys.ts'
import { defineScript, type Script, SettleCode } from '../../contract/wire/scripts.ts'
import { controlScript } from '../admission/scripts.ts'
import { endLost, type LostEnd } from '../admission/settleLost.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { BatchLimits } from './limits.ts'

const VOID = -1

/** Identifies a hold. */
export interface HoldOf {
  readonly id: string
  readonly accountId: string
  readonly keyId: string
}

/** How a hold was ended: settled, with its charge; `voided` when it was given up before; `later`: not yet, retry. */
export type Ended = LostEnd | 'later'

/** The holds of batch jobs in Redis. Every call rejects with Redis's error. */
export class BatchHolds {
  private readonly redis: Redis
  private readonly pool: Pool
  private readonly handOver: Script
  private readonly settle: Script
  private readonly limits: BatchLimits

  constructor(redis: Redis, pool: Pool, limits: BatchLimits) {
    this.limits = limits
    this.redis = redis
    this.pool = pool
    this.handOver = controlScript(redis, 'handOver')
    this.settle = defineScript(redis, 'settle')
  }

  /**
   * Takes a hold over from the proxy that took it, which cannot end it afterwards.
   * @param byMs the latest time, on Redis's clock
   * @returns false when the proxy does not have it any more, `byMs` is over, or admission is closed
   */
  async takeOver(job: HoldOf, owner: string, byMs: number): Promise<boolean> {
    const shard = shardOf(job.accountId)
    const keys = [epochKey(shard), holdsKey(shard, owner), holdsKey(shard, BATCH_OWNER)]
    return (await this.handOver(keys, [job.id, byMs])) === 1
  }

  /** Which of the jobs have their hold. */
  async held(jobs: readonly HoldOf[]): Promise<boolean[]> {
    const asked = jobs.map((job) => this.redis.hexists(holdsKey(shardOf(job.accountId), BATCH_OWNER), job.id))
    return (await Promise.all(asked)).map((found) => found === 1)
  }

  /**
   * Ends the hold of a job, exactly once by its request id.
   * @param chargeUnits null voids the hold
   * @param settlement the Settlement message
   * @param isShown the charge was shown before
   * @returns 'later' while admission is closed
   */
  async end(job: HoldOf, chargeUnits: number | null, settlement: Buffer, isShown = false): Promise<Ended> {
    const shard = shardOf(job.accountId)
    const keys = settleKeys(shard, job.accountId, job.keyId, BATCH_OWNER)
    const args = [1, this.limits.rememberResultMinutes, job.id, chargeUnits ?? VOID, settlement]
    const [code, units] = (await this.settle(keys, args)) as [number, number]
    if (code === SettleCode.CLOSED) return 'later'
    // It was ended some time ago, or the hold was lost with Redis. The book knows which.
    if (code === SettleCode.UNKNOWN) return endLost(this.redis, this.pool, settlement, this.limits, isShown)
    return { chargedUnits: Math.max(0, units), voided: code === SettleCode.ALREADY_VOIDED }
  }
}
