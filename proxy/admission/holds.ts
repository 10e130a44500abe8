import { GatewayError } from '../../contract/errors/errors.ts'
import { assertMoney } from '../../contract/money/moneyFault.ts'
import { SPANS } from '../../contract/money/windows.ts'
import { metCap } from '../../contract/wire/caps.ts'
import { FixedArguments } from '../../contract/wire/scriptArguments.ts'
import { HoldCode, type Script, type ScriptArgument, type ScriptKey } from '../../contract/wire/scripts.ts'
import type { Principal } from '../access/principal.ts'
import { type Held, heldOf } from './held.ts'
import { holdRefusal } from './holdRefusal.ts'
import { type AdmissionLimits, RECALL_STEPS } from './limits.ts'
import { notifyWaiter } from './notifyWaiter.ts'
import { parseSplit } from './parts.ts'
import { ShardKeyCache } from './shardKeyCache.ts'

const REPLY_HEAD = 1
const REPLY_PER_ITEM = 3
/** Arguments of an item that are in the principal: account, key, caps and rate. */
const OF_PRINCIPAL = SPANS.length + 3

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
  /** The permits of the key's rate that are left, for a hold on a lease. */
  rateLeft?: number
  onHeld(held: Held): void
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
  readonly limits: AdmissionLimits
  /** Whether a call can reach Redis now; if not, nothing is sent, so that nothing can be half done. */
  readonly connected: () => boolean
  /** Recalls the idle leases of an account from all processes. */
  readonly recall: (accountId: string) => void
  /** Redis Cluster takes no call across shards; a single server takes all holds of a turn in one. */
  readonly perShard: boolean
  /** An account that Redis does not know, or an invalid answer of Redis: to be reported to an operator. */
  readonly onFault: (error: unknown) => void
}

/** A request that waits for its hold. */
interface Waiting {
  readonly waiter: HoldWaiter
  /** Until when recalled leases are waited for, by performance.now(); 0 when none were recalled. */
  readonly recalledUntilMs: number
}

/**
 * Takes holds. Those that arrive in one turn of the event loop travel in one call. One that would be refused while the account
 * has something out in leases recalls them, and is tried again for a moment.
 */
export class Holds implements Holding {
  private readonly options: HoldsOptions
  private readonly shardKeys = new ShardKeyCache()
  private waiting: Waiting[] = []
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
    this.add({ waiter, recalledUntilMs: 0 })
  }

  private add(waiting: Waiting): void {
    this.waiting.push(waiting)
    if (this.scheduled) return
    this.scheduled = true
    this.options.schedule(this.flush)
  }

  private sendPerShard(waiting: readonly Waiting[]): void {
    const shards = new Map<number, Waiting[]>()
    for (const one of waiting) {
      const number = one.waiter.principal.shard
      const shard = shards.get(number)
      if (shard === undefined) shards.set(number, [one])
      else shard.push(one)
    }
    for (const shard of shards.values()) this.sendInBatches(shard)
  }

  private sendInBatches(waiting: readonly Waiting[]): void {
    const size = this.options.limits.holdBatchMax
    for (let from = 0; from < waiting.length; from += size) {
      const batch = waiting.length <= size ? waiting : waiting.slice(from, from + size)
      this.send(batch)
    }
  }

  private send(batch: readonly Waiting[]): void {
    const keys: ScriptKey[] = []
    const args: ScriptArgument[] = [batch.length, this.options.limits.ledgerStreamEntriesMax]
    for (const { waiter, recalledUntilMs } of batch) {
      const { principal } = waiter
      const { ids } = principal
      // The first try has used the permit of its rate.
      const caps = recalledUntilMs === 0 ? principal.caps : withoutRate(principal.caps)
      if (ids.texts.length + caps.texts.length !== OF_PRINCIPAL)
        throw new Error(`hold.lua takes ${OF_PRINCIPAL} arguments of a principal`)
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

  private deliver(batch: readonly Waiting[], reply: readonly unknown[]): void {
    const heldAtMs = reply[0] as number
    const splits = REPLY_HEAD + batch.length * REPLY_PER_ITEM
    for (const [i, held] of batch.entries()) {
      const at = REPLY_HEAD + i * REPLY_PER_ITEM
      const code = reply[at] as number
      if (this.mayComeBack(held, code, Number(reply[splits + i]))) continue
      this.notify(held, (waiter) => {
        if (code === HoldCode.OK) waiter.onHeld(grantedOf(waiter, reply[at + 1], reply[splits + i], heldAtMs))
        else {
          const refusal = { code, retryMs: reply[at + 2] as number, leastUnits: waiter.leastUnits }
          waiter.onHoldRefused(holdRefusal(waiter, refusal, this.options.onFault))
        }
      })
    }
  }

  /** Recalls leases and tries again soon. @returns false when nothing is out, or the wait is over */
  private mayComeBack({ waiter, recalledUntilMs }: Waiting, code: number, out: number): boolean {
    if ((code !== HoldCode.BALANCE && metCap(code) === undefined) || out <= 0) return false
    const nowMs = performance.now()
    const isFirst = recalledUntilMs === 0
    if (!isFirst && nowMs >= recalledUntilMs) return false
    const { recallWaitMs } = this.options.limits
    if (isFirst) this.options.recall(waiter.principal.accountId)
    const again = { waiter, recalledUntilMs: isFirst ? nowMs + recallWaitMs : recalledUntilMs }
    setTimeout(() => this.add(again), recallWaitMs / RECALL_STEPS)
    return true
  }

  private notify({ waiter }: Waiting, call: (waiter: HoldWaiter) => void): void {
    notifyWaiter(waiter, call, this.options.onFault)
  }

  private failed(batch: readonly Waiting[], error: unknown): void {
    this.options.onFault(error)
    this.refuseAll(batch, LOST_ANSWER)
  }

  private refuseAll(batch: readonly Waiting[], cause: symbol | undefined): void {
    for (const one of batch) {
      this.notify(one, (waiter) =>
        waiter.onHoldRefused(new GatewayError('admission_unavailable', { retryAfterSeconds: 1, cause })),
      )
    }
  }
}

function withoutRate({ texts }: FixedArguments): FixedArguments {
  return new FixedArguments(...texts.slice(0, -1), '')
}

/** A hold that Redis has granted. @throws MoneyFault where it is not the one that was asked for */
function grantedOf(waiter: HoldWaiter, reply: unknown, split: unknown, heldAtMs: number): Held {
  const { requestId, wantUnits, leastUnits } = waiter
  const held = heldOf(parseSplit(String(split)), heldAtMs)
  const units = Number(reply)
  assertMoney(units <= wantUnits && units >= leastUnits, 'grant_within_request', requestId, units, wantUnits)
  assertMoney(held.units === units, 'hold_is_its_parts', requestId, held.units, units)
  return held
}

/** The arguments of hold.lua after the items: the platform keys of items whose key is a sub-key. */
function appendPlatforms(batch: readonly Waiting[], keys: ScriptKey[], args: ScriptArgument[]): void {
  for (const [i, { waiter }] of batch.entries()) {
    const { platform } = waiter.principal
    if (platform === null) continue
    keys.push(platform.countersKey)
    args.push(i, platform.caps)
  }
}

/**
 * The cause of a refusal whose hold may have been taken all the same, because Redis's answer was lost: void it to be sure.
 */
export const LOST_ANSWER: unique symbol = Symbol('the answer to a hold was lost')
