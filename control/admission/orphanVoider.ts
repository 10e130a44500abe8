import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { BATCH_OWNER, epochKey, leasesKey, OWNERS_KEY } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { defineScript, LeaseCode, type Script } from '../../contract/wire/scripts.ts'
import { apart } from '../runtime/apart.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { Loop } from '../runtime/loop.ts'
import { redisNowMs } from '../runtime/redisClock.ts'
import type { HoldRecord } from './holdRecord.ts'
import type { HoldVoider } from './holdVoider.ts'
import { scanLeasesKeys } from './leaseRecord.ts'
import type { AdmissionLimits } from './limits.ts'
import { type OwnedKey, readHolds, scanHoldsKeys, shardsWith } from './listHolds.ts'
import { adoptOwners } from './rebuild.ts'
import { answersOf, controlScript } from './scripts.ts'

interface Observation {
  readonly score: string
  /** When the score was first seen unchanged, by this process's monotonic clock. */
  readonly sinceMs: number
}

/** A process whose heartbeat has stopped. */
interface GoneOwner {
  readonly owner: string
  readonly score: string
  readonly forMs: number
}

/**
 * Takes back the leases of proxy processes whose heartbeat has stopped, after a longer time voids their holds, and voids holds
 * older than any request can be. It is the last resort: a supervisor that sees a process end, or a successor that reads its
 * journal, knows more, and voiding a hold before its journal is read would return a charge that a receipt shows. A process
 * counts as gone when this one saw no heartbeat of it for limits.heartbeatTimeoutMs over an unbroken connection; neither an
 * outage of Redis nor a jump of its clock voids the holds of live processes.
 */
export class OrphanVoider {
  /** Units taken back from leases since the start. */
  takenBackUnits = 0
  private readonly redis: Redis
  private readonly log: Logger
  private readonly voider: HoldVoider
  private readonly closeOwner: Script
  private readonly forget: Script
  private readonly loop: Loop
  private readonly observed = new Map<string, Observation>()
  private lastPassMs = Number.NEGATIVE_INFINITY
  private scanAtMs = 0
  // Processes that were disconnected from Redis deliver their endings first.
  private readonly onBreak = (): void => {
    this.observed.clear()
    this.scanAtMs = performance.now() + this.limits.lostHoldWatchMs
  }
  private readonly limits: AdmissionLimits

  constructor(options: { redis: Redis; log: Logger; voider: HoldVoider; limits: AdmissionLimits }) {
    this.limits = options.limits
    this.redis = options.redis
    this.log = options.log
    this.voider = options.voider
    this.closeOwner = defineScript(options.redis, 'closeOwner')
    this.forget = controlScript(options.redis, 'forgetOwner')
    options.redis.on('close', this.onBreak)
    this.loop = new Loop('orphaned holds', options.limits.orphanCheckMs, options.log, (signal) => this.pass(signal))
  }

  async stop(): Promise<void> {
    this.redis.off('close', this.onBreak)
    await this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    if (this.redis.status !== 'ready') return
    const isScanDue = performance.now() >= this.scanAtMs
    if (isScanDue) this.scanAtMs = performance.now() + this.limits.ownerScanMs
    const steps = [...(isScanDue ? [() => this.scan(signal)] : []), () => this.endGone(signal)]
    await apart(steps, (step) => step(), signal)
  }

  private async endGone(signal: AbortSignal): Promise<void> {
    await apart(await this.goneOwners(), (gone) => this.endOwner(gone), signal)
  }

  private async goneOwners(): Promise<GoneOwner[]> {
    const replies = await this.redis.zrange(OWNERS_KEY, '0', '-1', 'WITHSCORES')
    const nowMs = performance.now()
    // A longer gap between passes was not watched: Redis or this process was stalled.
    const gapMaxMs = this.limits.heartbeatTimeoutMs / 3
    if (nowMs - this.lastPassMs > this.limits.orphanCheckMs + gapMaxMs) this.observed.clear()
    this.lastPassMs = nowMs
    const scores = new Map<string, string>()
    for (let i = 0; i + 1 < replies.length; i += 2) scores.set(replies[i] ?? '', replies[i + 1] ?? '')
    for (const owner of this.observed.keys()) if (!scores.has(owner)) this.observed.delete(owner)
    const gone: GoneOwner[] = []
    for (const [owner, score] of scores) {
      const seen = this.observed.get(owner)
      if (seen?.score !== score) this.observed.set(owner, { score, sinceMs: nowMs })
      else if (nowMs - seen.sinceMs >= this.limits.heartbeatTimeoutMs)
        gone.push({ owner, score, forMs: nowMs - seen.sinceMs })
    }
    return gone
  }

  private async endOwner({ owner, score, forMs }: GoneOwner): Promise<void> {
    const isDue = forMs >= this.limits.orphanVoidMs
    const steps = [
      () => this.takeBack(owner),
      async () => (isDue ? this.voider.voidOwner(owner) : (await this.voider.shardsOf(owner)).length),
    ]
    let left = 0
    await apart(steps, async (step) => {
      left += await step()
    })
    // While admission is closed its holds and leases stay, and so does the owner, for the next pass.
    if (left === 0) await this.forget([OWNERS_KEY], [owner, score])
  }

  /** @returns in how many shards its leases could not be taken back now */
  private async takeBack(owner: string): Promise<number> {
    let left = 0
    await apart(await shardsWith(this.redis, (shard) => leasesKey(shard, owner)), async (shard) => {
      const keys = [epochKey(shard), leasesKey(shard, owner)]
      const keptSeconds = Math.ceil(this.limits.ownerKeptMs / 1_000)
      const [code, units] = (await this.closeOwner(keys, [keptSeconds])) as [number, number]
      if (code !== LeaseCode.OK) left++
      if (units === 0) return
      this.takenBackUnits += units
      logEvent(this.log, 'orphaned_leases_reclaimed', { shard, owner, units })
    })
    return left
  }

  /** Finds holds and leases of owners that are missing from `owners`, and holds that outlived every time limit. */
  private async scan(signal: AbortSignal): Promise<void> {
    const keys = (await scanHoldsKeys(this.redis)).filter((key) => key.owner !== BATCH_OWNER)
    await adoptOwners(this.redis, [...keys, ...(await this.leasesInUse())])
    const oldestMs = (await redisNowMs(this.redis)) - this.limits.holdAgeMaxMs
    const isOld = (hold: HoldRecord): boolean => hold.heldAtMs < oldestMs
    const end = (page: readonly HoldRecord[]): Promise<number> => this.voider.voidHolds(page.filter(isOld))
    await apart(keys, (key) => apart(readHolds(this.redis, key), end, signal), signal)
  }

  /** Leases that were not taken back. The rest of the others expires by itself. */
  private async leasesInUse(): Promise<OwnedKey[]> {
    const keys = await scanLeasesKeys(this.redis)
    const pipeline = pipelineOf(this.redis)
    for (const { key } of keys) pipeline.hexists(key, 'closed')
    const isClosed = answersOf(await pipeline.exec())
    return keys.filter((_, place) => isClosed[place] === 0)
  }
}
