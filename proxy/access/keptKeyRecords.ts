import { CallSeal, KEPT_CHANNEL } from '../../contract/wire/callSeal.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { type KeptKey, keptKey, keptKeyGroups, keyRecordLabel } from '../../contract/wire/keptKeys.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { ANNOUNCED_KEY } from '../../contract/wire/redisKeys.ts'
import { defineBinaryScript, type Script } from '../../contract/wire/scripts.ts'
import type { AccessLimits } from './limits.ts'

export interface KeptKeyRecordsOptions {
  /** One connection for reads and drops: a record that was dropped on it is not read on it afterwards. */
  readonly redis: Redis
  readonly busKeys: readonly Buffer[]
  readonly owner: string
  readonly limits: AccessLimits
  /** Whether Redis is served by servers that control has opened admission for. */
  readonly usable: () => boolean
  /** A number that changes when another server may have answered. */
  readonly serverChanges: () => number
}

/** Records that were read from Redis. */
export interface KeptFound {
  /** By the hash of the key. */
  readonly records: ReadonlyMap<string, sluice.KeyRecord>
  /** Claims the others, so that control may keep them; empty for none. */
  readonly claim: string
}

const NONE: KeptFound = { records: new Map(), claim: '' }

/**
 * Reads the key records that control keeps in Redis. They are not used while nobody announces changes of keys, nor from a
 * Redis that took over, which may lack the last drops.
 */
export class KeptKeyRecords {
  private readonly options: KeptKeyRecordsOptions
  private readonly seal: CallSeal
  private readonly script: Script
  private claims = 0

  constructor(options: KeptKeyRecordsOptions) {
    this.options = options
    this.seal = new CallSeal(options.busKeys, KEPT_CHANNEL)
    this.script = defineBinaryScript(options.redis, 'readKeyRecords')
  }

  /** Reads records, and claims those that are not kept; nothing when Redis does not answer. */
  async read(keyHashes: readonly string[]): Promise<KeptFound> {
    const { usable, serverChanges, redis } = this.options
    if (!usable()) return NONE
    const changes = serverChanges()
    const claim = `${this.options.owner}:${++this.claims}`
    const groups = keptKeyGroups(redis, keyHashes)
    try {
      const [announced, ...answers] = await Promise.all([
        redis.exists(ANNOUNCED_KEY),
        ...groups.map((group) => this.readGroup(group, claim)),
      ])
      if (serverChanges() !== changes || !usable()) return NONE
      if (announced === 0) return { records: NONE.records, claim }
      return { records: new Map(answers.flat()), claim }
    } catch {
      // Control is asked in any case, and Redis's outage is logged where its connections are watched.
      return NONE
    }
  }

  /** Drops the record of a key in the background, and any claim to it; it is not read by a later call of `read`. */
  drop(keyHash: string): void {
    this.options.redis.del(keptKey(keyHash).recordKey).catch(() => undefined)
  }

  private async readGroup(group: readonly KeptKey[], claim: string): Promise<[string, sluice.KeyRecord][]> {
    const keys = group.flatMap(({ epochKey, recordKey }) => [epochKey, recordKey])
    const answer = (await this.script(keys, [claim, this.options.limits.rpcTimeoutMs])) as (Buffer | null)[]
    return group.flatMap(({ keyHash }, i) => {
      const sealed = answer[i]
      const record = sealed && this.opened(keyHash, sealed)
      return record ? [[keyHash, record]] : []
    })
  }

  /** A record that this process cannot read, because it has another form or key, is dropped, so that it is kept anew. */
  private opened(keyHash: string, sealed: Buffer): sluice.KeyRecord | undefined {
    const payload = this.seal.open(keyRecordLabel(keyHash), sealed)
    try {
      if (payload !== undefined) return sluice.KeyRecord.decode(payload)
    } catch {
      // As one that cannot be opened.
    }
    this.drop(keyHash)
    return undefined
  }
}
