import { GatewayError } from '../../contract/errors/errors.ts'
import { HoldCode, type Script, type ScriptArgument, type ScriptKey } from '../../contract/wire/scripts.ts'
import type { Principal } from '../access/principal.ts'
import type { Limits } from '../limits.ts'
import { holdRefusal } from './holdRefusal.ts'
import { notifyWaiter } from './notifyWaiter.ts'
import { ShardKeyCache } from './shardKeyCache.ts'

const REPLY_HEAD = 1
const REPLY_PER_ITEM = 3
/** Arguments of an item that are in the principal. */
const OF_PRINCIPAL = 7

/** Tokens of a compute lock that a request burns if its account has them. Amounts are units at the locked price. */
export interface LockWant {
  readonly seriesId: string
  /** Of one micro-token. */
  readonly microUnits: number
  /** The worst case at the prices of the series, in whole micro-tokens. */
  readonly wantUnits: number
  /** The hold on credits and coin, when tokens pay for `lockUnits` of the worst case. */
  rest(lockUnits: number): { readonly wantUnits: number; readonly leastUnits: number }
}

/** A request that waits for its hold; exactly one of the first two calls follows, and the third if that one threw. */
export interface HoldWaiter {
  readonly requestId: string
  readonly principal: Principal
  readonly wantUnits: number
  readonly leastUnits: number
  /** The values that control needs to write a receipt if this process dies: model,endpoint,sheet version,streamed. */
  readonly holdMeta: string
  /** Units in one coin, by the price sheet that the request was priced by. */
  readonly coinUsdUnits: number
  /** Absent for a request that burns no tokens. */
  readonly lock?: LockWant | undefined
  /**
   * @param heldUnits tokens of a lock at their locked price included
   * @param heldAtMs on Redis's clock
   * @param split of a hold that Redis keeps by itself, `grantId=units,...,coin=units:nanos`
   * @param lockUnits the part of it that is tokens of the lock; absent is 0
   * @param creditUnits the part of it that is promotional credits; absent is 0, also where it is not known
   */
  onHeld(heldUnits: number, heldAtMs: number, split?: string, lockUnits?: number, creditUnits?: number): void
  onHoldRefused(error: GatewayError): void
  /** A callback threw; the hold may have been taken. */
  onCrashed(error: unknown): void
}

/** A service that takes holds for requests. */
export interface Holding {
  /** Asks for a hold; the waiter is called back in a later turn. */
  take(waiter: HoldWaiter): void
}

export interface HoldsOptions {
  readonly script: Script
  /** Runs work once the events of this turn are processed. */
  readonly schedule: (work: () => void) => void
  readonly owner: string
  readonly limits: Limits
  /** Whether a call can reach Redis now; if not, nothing is sent, so that nothing can be half done. */
  readonly connected: () => boolean
  /** Redis Cluster takes no call across shards; a single server takes all holds of a turn in one. */
  readonly perShard: boolean
  /** An account that Redis does not know, or an invalid answer of Redis: to be reported to an operator. */
  readonly onFault: (error: unknown) => void
}

/** Takes holds. Those that arrive in one turn of the event loop travel in one call. */
export class Holds implements Holding {
  private readonly options: HoldsOptions
  private readonly shardKeys = new ShardKeyCache()
  private waiting: HoldWaiter[] = []
  private scheduled = false
  private readonly flush = () => {
    this.scheduled = false
    const waiting = this.waiting
    this.waiting = []
    if (!this.options.connected()) this.refuseAll(waiting, undefined)
    else if (this.options.perShard) this.sendPerShard(waiting)
    else this.sendInBatches(waiting)
  }

  constructor(options: HoldsOptions) {
    this.options = options
  }

  take(waiter: HoldWaiter): void {
    this.waiting.push(waiter)
    if (this.scheduled) return
    this.scheduled = true
    this.options.schedule(this.flush)
  }

  private sendPerShard(waiting: readonly HoldWaiter[]): void {
    const shards = new Map<number, HoldWaiter[]>()
    for (const waiter of waiting) {
      const shard = shards.get(waiter.principal.shard)
      if (shard === undefined) shards.set(waiter.principal.shard, [waiter])
      else shard.push(waiter)
    }
    for (const shard of shards.values()) this.sendInBatches(shard)
  }

  private sendInBatches(waiting: readonly HoldWaiter[]): void {
    const size = this.options.limits.holdBatchMax
    for (let from = 0; from < waiting.length; from += size) {
      const batch = waiting.length <= size ? waiting : waiting.slice(from, from + size)
      this.send(batch)
    }
  }

  private send(batch: readonly HoldWaiter[]): void {
    const keys: ScriptKey[] = []
    const args: ScriptArgument[] = [batch.length, this.options.limits.ledgerStreamEntriesMax]
    for (const waiter of batch) {
      const { principal } = waiter
      const { ids, caps } = principal
      if (ids.texts.length + caps.texts.length !== OF_PRINCIPAL) throw new Error('hold.lua takes 12 arguments an item')
      const shard = this.shardKeys.of(this.options.owner, principal.shard)
      keys.push(shard.epoch, principal.keys, shard.behindHold)
      args.push(waiter.requestId, ids, waiter.wantUnits, waiter.leastUnits, caps, waiter.holdMeta)
      args.push(waiter.coinUsdUnits)
    }
    appendPlatforms(batch, keys, args)
    this.options.script(keys, args).then(
      (reply) => this.deliver(batch, reply as unknown[]),
      (error: unknown) => this.failed(batch, error),
    )
  }

  private deliver(batch: readonly HoldWaiter[], reply: readonly unknown[]): void {
    const heldAtMs = reply[0] as number
    const splits = REPLY_HEAD + batch.length * REPLY_PER_ITEM
    for (const [i, held] of batch.entries()) {
      const at = REPLY_HEAD + i * REPLY_PER_ITEM
      const code = reply[at] as number
      this.notify(held, (waiter) => {
        if (code === HoldCode.OK) waiter.onHeld(reply[at + 1] as number, heldAtMs, String(reply[splits + i]))
        else waiter.onHoldRefused(holdRefusal(waiter, code, reply[at + 2] as number, this.options.onFault))
      })
    }
  }

  private notify(waiter: HoldWaiter, call: (waiter: HoldWaiter) => void): void {
    notifyWaiter(waiter, call, this.options.onFault)
  }

  private failed(batch: readonly HoldWaiter[], error: unknown): void {
    this.options.onFault(error)
    this.refuseAll(batch, LOST_ANSWER)
  }

  private refuseAll(batch: readonly HoldWaiter[], cause: symbol | undefined): void {
    for (const waiter of batch) {
      this.notify(waiter, () =>
        waiter.onHoldRefused(new GatewayError('admission_unavailable', { retryAfterSeconds: 1, cause })),
      )
    }
  }
}

/** The arguments of hold.lua after the items: the platform keys of items whose key is a sub-key. */
function appendPlatforms(batch: readonly HoldWaiter[], keys: ScriptKey[], args: ScriptArgument[]): void {
  for (const [i, { principal }] of batch.entries()) {
    const { platform } = principal
    if (platform === null) continue
    keys.push(platform.countersKey)
    args.push(i, platform.caps)
  }
}

/**
 * The cause of a refusal whose hold may have been taken all the same, because Redis's answer was lost: void it to be sure.
 */
export const LOST_ANSWER: unique symbol = Symbol('the answer to a hold was lost')
