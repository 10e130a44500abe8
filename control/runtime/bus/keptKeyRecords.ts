import { CallSeal, KEPT_CHANNEL } from '../../../contract/wire/callSeal.ts'
import { keptKey, keptKeyGroups, keyRecordLabel } from '../../../contract/wire/keptKeys.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { ANNOUNCED_KEY } from '../../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../../contract/wire/redisShards.ts'
import { defineScript, type Script } from '../../../contract/wire/scripts.ts'
import type { RuntimeLimits } from '../limits.ts'

export interface KeyRecordKeeper {
  /**
   * Keeps records that were read from the book after they were claimed; those that were dropped since then are not kept.
   * @param records encoded, by the hash of the key; a key without one loses its claim
   * @throws errors of Redis
   */
  keep(claim: string, keyHashes: readonly string[], records: ReadonlyMap<string, Uint8Array>): Promise<void>
}

/** Keeps key records in Redis, sealed, where all proxies read them before they ask control. */
export class KeptKeyRecords implements KeyRecordKeeper {
  private readonly redis: Redis
  private readonly seal: CallSeal
  private readonly script: Script
  private readonly limits: RuntimeLimits

  constructor(redis: Redis, busKeys: readonly Buffer[], limits: RuntimeLimits) {
    this.redis = redis
    this.seal = new CallSeal(busKeys, KEPT_CHANNEL)
    this.script = defineScript(redis, 'keepKeyRecords')
    this.limits = limits
  }

  async keep(claim: string, keyHashes: readonly string[], records: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const groups = keptKeyGroups(this.redis, keyHashes).map((group) => {
      const sealed = group.map(({ keyHash }) => {
        const record = records.get(keyHash)
        return record === undefined ? '' : this.seal.sealKept(keyRecordLabel(keyHash), record)
      })
      const keys = group.map(({ recordKey }) => recordKey)
      return this.script(keys, [claim, this.limits.keyRecordKeptMs, ...sealed])
    })
    await Promise.all(groups)
  }
}

/** Drops the kept records of keys, and the claims to them. @throws errors of Redis */
export async function dropKeyRecords(redis: Redis, keyHashes: readonly string[]): Promise<void> {
  const pipeline = pipelineOf(redis)
  for (const keyHash of keyHashes) pipeline.del(keptKey(keyHash).recordKey)
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error
}

/**
 * Notes that all changes of keys that were committed by a time are announced. The proxies use kept records only for
 * limits.keyRecordTrustMs after it, so that a change that nobody announces is not overlooked for longer.
 * @param atMs by Redis's clock
 */
export async function noteAllAnnounced(redis: Redis, atMs: number, limits: RuntimeLimits): Promise<void> {
  await redis.set(ANNOUNCED_KEY, '1', 'PXAT', atMs + limits.keyRecordTrustMs)
}
