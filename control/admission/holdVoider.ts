import type { Logger } from 'pino'
import { VideoState, videoIdOf } from '../../contract/catalog/video.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import { BATCH_OWNER, holdsKey, settleKeys, videoKey } from '../../contract/wire/redisKeys.ts'
import { defineScript, type Script, SettleCode } from '../../contract/wire/scripts.ts'
import { apart } from '../runtime/apart.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { redisNowMs } from '../runtime/redisClock.ts'
import type { HoldRecord } from './holdRecord.ts'
import type { AdmissionLimits } from './limits.ts'
import { readHolds, shardsWith } from './listHolds.ts'
import { orphanSettlement } from './orphanSettlement.ts'

const VOID = -1

/** The ending of an orphaned hold. */
interface End {
  readonly chargeUnits: number
  readonly settlement: Uint8Array
}

/** Ends holds of proxy processes that are gone: voids them, except those of finished video clips, which it charges. */
export class HoldVoider {
  /** Holds voided since the start. */
  voided = 0
  private readonly redis: Redis
  private readonly log: Logger
  private readonly limits: AdmissionLimits
  private readonly settle: Script

  constructor({ redis, log, limits }: { redis: Redis; log: Logger; limits: AdmissionLimits }) {
    this.redis = redis
    this.log = log
    this.limits = limits
    this.settle = defineScript(redis, 'settle')
  }

  /**
   * Ends all that a proxy process holds.
   * @returns how many holds could not be ended now
   * @throws errors of Redis
   */
  async voidOwner(owner: string): Promise<number> {
    // No process sends a heartbeat for the holds of batch jobs: their jobs end them.
    if (owner === BATCH_OWNER) return 0
    let left = 0
    await apart(await this.shardsOf(owner), (shard) =>
      apart(readHolds(this.redis, { key: holdsKey(shard, owner), shard, owner }), async (page) => {
        left += await this.voidHolds(page)
      }),
    )
    return left
  }

  /** The shards in which a proxy process has holds. @throws errors of Redis */
  shardsOf(owner: string): Promise<number[]> {
    return shardsWith(this.redis, (shard) => holdsKey(shard, owner))
  }

  /**
   * Ends holds.
   * @returns how many could not be ended now
   * @throws errors of Redis
   */
  async voidHolds(holds: readonly HoldRecord[]): Promise<number> {
    let left = 0
    const nowMs = await redisNowMs(this.redis)
    for (let i = 0; i < holds.length; i += this.limits.holdBatchMax) {
      const batch = holds.slice(i, i + this.limits.holdBatchMax)
      const keys = batch.flatMap(({ shard, accountId, keyId, owner }) => settleKeys(shard, accountId, keyId, owner))
      const ends = await Promise.all(batch.map((hold) => this.endOf(hold, nowMs)))
      const items = ends.flatMap(({ chargeUnits, settlement }, place) => {
        return [batch[place]?.requestId ?? '', chargeUnits, Buffer.from(settlement)]
      })
      const reply = (await this.settle(keys, [batch.length, this.limits.rememberResultMinutes, ...items])) as number[]
      for (const [place, hold] of batch.entries()) {
        if (reply[place * 2] === SettleCode.CLOSED) left++
        if (reply[place * 2] === SettleCode.SETTLED) this.note(hold, reply[place * 2 + 1] ?? VOID)
      }
    }
    return left
  }

  /** The settlement of a finished clip is kept with its job. */
  private async endOf(hold: HoldRecord, nowMs: number): Promise<End> {
    if (hold.endpoint === 'videos') {
      const key = videoKey(hold.shard, videoIdOf(hold.requestId))
      const [state, encoded] = await this.redis.hmgetBuffer(key, 's', 'j')
      const job = encoded && Number(state) === VideoState.MADE ? sluice.VideoJob.decode(encoded) : undefined
      const { settlement } = job ?? {}
      if (settlement !== undefined && settlement.length > 0) return { chargeUnits: job?.chargeUnits ?? 0, settlement }
    }
    return { chargeUnits: VOID, settlement: orphanSettlement(hold, nowMs) }
  }

  private note({ requestId, owner, holdUnits }: HoldRecord, chargedUnits: number): void {
    if (chargedUnits >= 0) {
      logEvent(this.log, 'orphaned_clip_charged', { request: requestId, owner, units: chargedUnits })
      return
    }
    this.voided++
    logEvent(this.log, 'orphaned_hold_voided', { request: requestId, owner, units: holdUnits })
  }
}
