import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { HoldCode } from '../../../contract/wire/scripts.ts'
import type { Principal } from '../../access/principal.ts'
import type { HoldWaiter } from '../holds.ts'
import { Demand } from './demand.ts'
import { HOUR_MS, keysOf, Lease } from './lease.ts'
import type { LeaseAnswer, LeaseAsk } from './leaseCall.ts'
import type { LeaseContext } from './leaseContext.ts'
import { LockQueue } from './lockQueue.ts'
import { LockTaking } from './lockTaking.ts'
import type { Parts } from './parts.ts'

/** A lease keeps up to this multiple of the key's expected need before a part of it is given back. */
const SLACK = 2
/** More is leased once less than this part of it is left. */
const LOW_MARK = 0.5

/** The functions of their shard that a key's leases need. */
export interface KeyShard {
  /** Makes the shard ask Redis for this key. */
  want(key: KeyLeases): void
  /** A request has its hold. */
  opened(waiter: HoldWaiter, lease: Lease, parts: Parts, units: number): void
  /** The lease under this name, which is kept until Redis has all of it back. */
  leaseOf(accountId: string, keys: string, hour: number): Lease
}

/** The requests of one key in this process, and the lease that they are held on. */
export class KeyLeases {
  readonly keyId: string
  lease: Lease | undefined
  private principal: Principal
  /** Units in one coin, as the last request was priced by. */
  private coinUsdUnits = UNITS_PER_USD
  private waiting: HoldWaiter[] = []
  private permits = 0
  private usedAtMs = 0
  /** More is leased in advance from then on. */
  private renewAtMs = 0
  /** How long requests wait for the recalled leases of other processes; 0 while no recall is under way. */
  private recallUntilMs = 0
  /** More is to be leased in advance. */
  private renews = false
  /** Of requests that burn tokens; null before the first. */
  private locks: LockQueue | null = null
  private readonly demand = new Demand()
  private readonly shard: KeyShard
  private readonly context: LeaseContext
  private readonly retry = (): void => {
    if (this.waiting.length > 0) this.shard.want(this)
  }

  constructor(principal: Principal, shard: KeyShard, context: LeaseContext) {
    this.keyId = principal.keyId
    this.principal = principal
    this.shard = shard
    this.context = context
  }

  get accountId(): string {
    return this.principal.accountId
  }

  /** Holds for a request, immediately where the lease has it. */
  take(waiter: HoldWaiter, nowMs: number): void {
    if (waiter.principal !== this.principal) this.follow(waiter.principal)
    this.coinUsdUnits = waiter.coinUsdUnits
    if (waiter.lock === undefined) this.holdRest(waiter, nowMs)
    else this.lockQueue().take(waiter, waiter.lock, this.usable(nowMs), nowMs)
  }

  /** Holds credits and coin for a request, immediately where the lease has them. */
  holdRest(waiter: HoldWaiter, nowMs: number): void {
    if (this.waiting.length === 0 && this.tryHold(waiter, nowMs)) return
    this.waiting.push(waiter)
    if (this.waiting.length === 1) this.shard.want(this)
  }

  wantLocks(): void {
    this.shard.want(this)
  }

  /** The leases to ask for now: tokens of locks first. */
  asks(nowMs: number): LeaseAsk[] {
    const own = this.ask(nowMs)
    const locks = this.locks?.asks(this.principal, this.coinUsdUnits, this.usable(nowMs), nowMs) ?? []
    if (own !== undefined) locks.push(own)
    return locks
  }

  /** The lease of credits and coin to ask for; undefined when no request waits and none is expected soon. */
  private ask(nowMs: number): LeaseAsk | undefined {
    const coinUsdUnits = this.waiting[0]?.coinUsdUnits ?? this.coinUsdUnits
    const free = this.usable(nowMs)?.free(nowMs, coinUsdUnits) ?? 0
    let wantUnits = -free
    for (const waiter of this.waiting) wantUnits += waiter.wantUnits
    const { leaseDemandMs, leaseDemandRequests } = this.context.limits
    const isExact = this.context.isExact(this.accountId)
    const extra = isExact ? { units: 0, requests: 0 } : this.demand.next(nowMs, leaseDemandMs, leaseDemandRequests)
    const [first] = this.waiting
    const renews = this.renews && extra.requests > 0
    this.renews = false
    if (first === undefined && !renews) return undefined
    return {
      principal: this.principal,
      waiting: Math.max(0, this.waiting.length - this.permits),
      leastUnits: Math.max(0, (first?.leastUnits ?? 0) - free),
      wantUnits: Math.max(0, wantUnits),
      extraUnits: extra.units,
      extraPermits: extra.requests,
      coinUsdUnits,
    }
  }

  /** Processes Redis's answer to one of `asks`. @param nowMs its clock, by which the lease is counted */
  answered({ lock }: LeaseAsk, answer: LeaseAnswer, nowMs: number): void {
    if (lock !== undefined) {
      const isLeased = answer.code === HoldCode.OK && answer.units > 0
      this.lockQueue().answered(lock.seriesId, answer, isLeased ? this.leaseAt(nowMs) : this.usable(nowMs), nowMs)
      return
    }
    // Refused requests have used their permits, and requests that wait on keep theirs.
    this.permits += answer.permits
    if (answer.code !== HoldCode.OK) {
      this.refused(answer, nowMs)
      return
    }
    this.recallUntilMs = 0
    const lease = this.leaseAt(nowMs)
    lease.add(answer)
    this.serve(lease, nowMs)
    if (this.waiting.length > 0) this.shard.want(this)
  }

  /** Refuses all waiting requests. */
  refuseAll(code: number, retryMs = 0): void {
    const waiting = this.locks === null ? this.waiting : [...this.waiting, ...this.locks.takeAll()]
    this.waiting = []
    for (const waiter of waiting) this.context.refuse(waiter, code, retryMs)
  }

  /** Gives up the units that the key does not need now, or all that are not held. */
  giveUp(nowMs: number, all = false): void {
    const { lease } = this
    if (lease === undefined) return
    const { leaseDemandMs, leaseDemandRequests } = this.context.limits
    const isOver = all || nowMs >= lease.endMs || this.context.isExact(this.accountId)
    const keep = isOver ? 0 : this.demand.next(nowMs, leaseDemandMs, leaseDemandRequests).units
    const keepsLocks = this.locks?.isWaiting === true
    if (!keepsLocks) lease.giveUpLocks()
    if (keep === 0) lease.giveUpAll(keepsLocks)
    else if (lease.free(nowMs, this.coinUsdUnits) > SLACK * keep) lease.giveUp(keep, nowMs, this.coinUsdUnits)
    if (nowMs >= lease.endMs) this.lease = undefined
  }

  /** Unused permits, as `count,interval` for the call that gives them back; empty when there are none. */
  takePermits(nowMs: number): string {
    if (this.permits < 1 || this.waiting.length > 0 || !this.isIdle(nowMs)) return ''
    const { permits } = this
    this.permits = 0
    const interval = this.principal.caps.texts.at(-1)?.split(',', 1)[0] ?? ''
    return interval === '' ? '' : `${permits},${interval}`
  }

  /** Nothing of it is needed any more. Permits that are left without a lease are as good as used: the rate forgets them soon. */
  isDone(nowMs: number): boolean {
    return (
      this.waiting.length === 0 && this.locks?.isWaiting !== true && this.isIdle(nowMs) && this.lease?.isOut !== true
    )
  }

  private isIdle(nowMs: number): boolean {
    return nowMs - this.usedAtMs >= this.context.limits.leaseIdleMs
  }

  /** The key has changed: its leases under the old caps are given back first. */
  private follow(principal: Principal): void {
    this.principal = principal
    this.permits = 0
    this.lease?.giveUpAll()
  }

  private usable(nowMs: number): Lease | undefined {
    const { lease } = this
    return lease !== undefined && nowMs < lease.endMs && this.context.mayUse ? lease : undefined
  }

  private tryHold(waiter: HoldWaiter, nowMs: number): boolean {
    const lease = this.usable(nowMs)
    if (lease === undefined || this.permits < 1) return false
    if (lease.free(nowMs, waiter.coinUsdUnits) < waiter.wantUnits) return false
    this.hold(waiter, lease, waiter.wantUnits, nowMs)
    return true
  }

  private hold(waiter: HoldWaiter, lease: Lease, units: number, nowMs: number): void {
    const taking = waiter instanceof LockTaking ? waiter : undefined
    if (taking !== undefined && !taking.isOn(lease)) {
      taking.giveBack()
      this.take(taking.waiter, nowMs)
      return
    }
    this.permits--
    this.usedAtMs = nowMs
    this.demand.note(units, nowMs, this.context.limits.leaseDemandMs)
    const parts = lease.hold(units, nowMs, waiter.coinUsdUnits)
    if (taking === undefined) this.shard.opened(waiter, lease, parts, units)
    else this.shard.opened(waiter, lease, taking.holdWith(parts), units + taking.lockUnits)
    if (this.waiting.length === 0 && nowMs >= this.renewAtMs) this.renewEarly(lease, nowMs)
  }

  /** Leases more before a key that is used steadily has to wait for it. */
  private renewEarly(lease: Lease, nowMs: number): void {
    const { leaseDemandMs, leaseDemandRequests, leaseDeliverMs } = this.context.limits
    const need = this.demand.next(nowMs, leaseDemandMs, leaseDemandRequests)
    const free = lease.free(nowMs, this.coinUsdUnits)
    if (free >= need.units * LOW_MARK && this.permits >= need.requests * LOW_MARK) return
    if (this.context.isExact(this.accountId)) return
    this.renewAtMs = nowMs + leaseDeliverMs
    this.renews = true
    this.shard.want(this)
  }

  private lockQueue(): LockQueue {
    this.locks ??= new LockQueue(this)
    return this.locks
  }

  private leaseAt(nowMs: number): Lease {
    const lease = this.shard.leaseOf(this.accountId, keysOf(this.principal), Math.floor(nowMs / HOUR_MS))
    if (this.lease !== lease) this.lease?.giveUpAll()
    this.lease = lease
    return lease
  }

  /** The first waiting request may get less than it wants, because the lease has all that is left; the others ask again. */
  private serve(lease: Lease, nowMs: number): void {
    let served = 0
    for (const waiter of this.waiting) {
      const free = lease.free(nowMs, waiter.coinUsdUnits)
      const units = served === 0 && free >= waiter.leastUnits ? Math.min(waiter.wantUnits, free) : waiter.wantUnits
      if (this.permits < 1 || units > free) break
      served++
      this.hold(waiter, lease, units, nowMs)
    }
    this.waiting.splice(0, served)
  }

  private refused({ code, units, retryMs, out }: LeaseAnswer, nowMs: number): void {
    if (this.waiting.length === 0) return
    if (code === HoldCode.RATE || code === HoldCode.NO_ACCOUNT || code === HoldCode.BACKLOG) {
      this.refuseAll(code, retryMs)
      return
    }
    if (this.mayComeBack(out, nowMs)) return
    this.recallUntilMs = 0
    const usable = this.usable(nowMs)
    const isShort = ({ leastUnits, coinUsdUnits }: HoldWaiter) =>
      leastUnits > units + (usable?.free(nowMs, coinUsdUnits) ?? 0)
    const refused = this.waiting.filter(isShort)
    this.waiting = this.waiting.filter((waiter) => !isShort(waiter))
    this.permits = Math.max(0, this.permits - refused.length)
    for (const waiter of refused) this.context.refuse(waiter, code, 0)
    if (this.waiting.length > 0) this.shard.want(this)
  }

  /** Recalls the idle leases of other processes and retries soon. @returns false when nothing is out, or the wait is over */
  private mayComeBack(out: number, nowMs: number): boolean {
    if (this.recallUntilMs === 0) {
      if (out <= 0) return false
      this.recallUntilMs = nowMs + this.context.limits.recallWaitMs
      this.context.recall(this.accountId)
    } else if (nowMs >= this.recallUntilMs) {
      return false
    }
    this.context.retrySoon(this.retry)
    return true
  }
}
