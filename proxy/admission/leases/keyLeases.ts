import { assertMoney } from '../../../contract/money/moneyFault.ts'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { HoldCode } from '../../../contract/wire/scripts.ts'
import type { Principal } from '../../access/principal.ts'
import { heldOf } from '../held.ts'
import type { HoldWaiter } from '../holds.ts'
import { Demand } from './demand.ts'
import { assertKey, type KeyPhase } from './keyPhase.ts'
import type { KeyShard } from './keyShard.ts'
import { Lease } from './lease.ts'
import type { LeaseAnswer, LeaseAsk } from './leaseCall.ts'
import type { LeaseContext } from './leaseContext.ts'
import { HOUR_MS, keysOf } from './leaseName.ts'
import { LeaseRest } from './leaseRest.ts'
import { LockQueue } from './lockQueue.ts'
import { RatePermits } from './ratePermits.ts'
import type { ReservedTokens } from './reservedTokens.ts'
import { leaseAsk, restOf, shortOf, type WaitingRest } from './waitingRest.ts'

/** A lease keeps up to this multiple of the key's expected need before a part of it is given back. */
const SLACK = 2

/** The requests of one key in this process, and the lease that they are held on. */
export class KeyLeases {
  readonly keyId: string
  lease: Lease | undefined
  private principal: Principal
  /** Units in one coin, as the last request was priced by. */
  private coinUsdUnits = UNITS_PER_USD
  private waiting: WaitingRest[] = []
  private phase: KeyPhase = 'idle'
  readonly permits = new RatePermits()
  /** More is leased in advance from then on. */
  private renewAtMs = 0
  /** How long requests wait in phase `recalling`. */
  private recallUntilMs = 0
  /** Of requests that burn tokens. */
  private readonly locks = new LockQueue(this)
  private readonly demand: Demand
  private readonly rest: LeaseRest
  private readonly shard: KeyShard<KeyLeases>
  private readonly context: LeaseContext
  private readonly retry = (): void => {
    if (this.waiting.length > 0) this.shard.want(this)
  }

  constructor(principal: Principal, shard: KeyShard<KeyLeases>, context: LeaseContext) {
    this.keyId = principal.keyId
    this.principal = principal
    this.shard = shard
    this.context = context
    this.demand = new Demand(context.limits)
    this.rest = new LeaseRest(context.limits)
  }

  get accountId(): string {
    return this.principal.accountId
  }

  /** Holds for a request, immediately where the lease has it. */
  take(waiter: HoldWaiter, nowMs: number): void {
    if (waiter.principal !== this.principal) this.follow(waiter.principal)
    this.coinUsdUnits = waiter.coinUsdUnits
    if (waiter.lock === undefined) this.holdRest(waiter, null, nowMs)
    else this.locks.take(waiter, waiter.lock, this.usable(nowMs), nowMs)
  }

  /** Holds credits and coin for a request, immediately where the lease has them. */
  holdRest(waiter: HoldWaiter, tokens: ReservedTokens | null, nowMs: number): void {
    if (this.waiting.length === 0 && this.tryHold(waiter, tokens, nowMs)) return
    this.waiting.push({ waiter, tokens })
    if (this.waiting.length > 1) return
    this.enter('asking')
    this.shard.want(this)
  }

  wantLocks(): void {
    this.shard.want(this)
  }

  /** The leases to ask for now: tokens of locks first. */
  asks(nowMs: number): LeaseAsk[] {
    const own = this.ask(nowMs)
    const locks = this.locks.asks(this.principal, this.coinUsdUnits, this.usable(nowMs), nowMs)
    if (own !== undefined) locks.push(own)
    return locks
  }

  /** The lease of credits and coin to ask for; undefined when no request waits and none is expected soon. */
  private ask(nowMs: number): LeaseAsk | undefined {
    const coinUsdUnits = this.waiting[0]?.waiter.coinUsdUnits ?? this.coinUsdUnits
    const free = this.usable(nowMs)?.free(nowMs, coinUsdUnits) ?? 0
    const isExact = this.context.isExact(this.accountId)
    const extra = isExact ? { units: 0, requests: 0 } : this.demand.next(nowMs)
    const [first] = this.waiting
    const renews = this.phase === 'renewing' && extra.requests > 0
    if (this.phase === 'renewing') this.enter('idle')
    if (first === undefined && !renews) return undefined
    const { principal, waiting, permits } = this
    const rest = isExact || extra.requests > 0 ? undefined : this.rest
    return leaseAsk({ principal, waiting, permits: permits.count, free, extra, rest, coinUsdUnits })
  }

  /** Processes Redis's answer to one of `asks`. @param nowMs its clock, by which the lease is counted */
  answered({ lock, wantUnits }: LeaseAsk, answer: LeaseAnswer, nowMs: number): void {
    this.rest.changed()
    if (lock !== undefined) {
      const lease = answer.code === HoldCode.OK && answer.units > 0 ? this.leaseAt(nowMs) : this.usable(nowMs)
      this.locks.answered(lock.seriesId, wantUnits, answer, lease, nowMs)
      return
    }
    // Refused requests have used their permits, and requests that wait on keep theirs.
    this.permits.add(answer.permits, answer.permitsLeft)
    if (answer.code !== HoldCode.OK) return this.refused(answer, nowMs)
    if (this.phase === 'recalling') this.enter('asking')
    const lease = this.leaseAt(nowMs)
    lease.add(answer)
    this.rest.allow(answer.mayRest ? lease.free(nowMs, this.coinUsdUnits) : 0)
    if (this.phase !== 'asking') return
    this.serve(lease, nowMs, answer.units < wantUnits)
    this.askAgain()
  }

  /** Refuses all waiting requests. */
  refuseAll(code: number, retryMs = 0): void {
    const { waiting } = this
    if (waiting.length > 0) this.enter('idle')
    this.waiting = []
    for (const one of waiting) this.refuse(one, code, retryMs)
    for (const waiter of this.locks.takeAll()) this.refuse({ waiter, tokens: null }, code, retryMs)
  }

  /** Gives up the units that the key does not need now, or all that are not held. */
  giveUp(nowMs: number, all = false): void {
    const { lease } = this
    if (lease === undefined) return
    const isOver = all || nowMs >= lease.endMs || this.context.isExact(this.accountId)
    if (isOver) this.rest.end()
    const keep = isOver ? 0 : this.demand.next(nowMs).units
    const keepsLocks = this.locks.isWaiting
    if (!keepsLocks) lease.giveUpLocks()
    if (this.rest.mayStay(lease, nowMs)) this.rest.trim(lease, nowMs, this.coinUsdUnits)
    else if (keep === 0) lease.giveUpAll(keepsLocks)
    else if (lease.free(nowMs, this.coinUsdUnits) > SLACK * keep) lease.giveUp(keep, nowMs, this.coinUsdUnits)
    if (this.permits.count > 0 && this.rest.isIdle(nowMs)) lease.noteDue()
    if (nowMs >= lease.endMs) this.lease = undefined
    this.rest.reviewed(lease, keep === 0 && !keepsLocks && this.waiting.length === 0)
  }

  /** Whether a review would change nothing. */
  isQuiet(nowMs: number): boolean {
    return this.rest.isQuiet(nowMs)
  }

  /** A request of the key has ended: gives up as `giveUp`, and takes the permit that was used on a lease that rests. */
  ended(nowMs: number): void {
    this.giveUp(nowMs)
    if (this.permits.count < 0) this.lease?.noteDue()
  }

  /** The lease does not rest any longer. */
  endRest(nowMs: number): void {
    this.rest.end()
    this.giveUp(nowMs)
  }

  /** Whether the key is not in use, and its lease stays all the same. */
  rests(nowMs: number): boolean {
    const { lease } = this
    if (lease === undefined || this.waiting.length > 0 || this.locks.isWaiting || !this.rest.isIdle(nowMs)) return false
    return this.permits.count <= 0 && lease.isOut && nowMs < lease.endMs && this.rest.mayStay(lease, nowMs)
  }

  /** Unused permits, as `count,interval` for the call that gives them back; empty when there are none. */
  takePermits(nowMs: number): string {
    if (this.permits.count > 0 && (this.waiting.length > 0 || !this.rest.isIdle(nowMs))) return ''
    return this.permits.takeAll(this.principal.caps.texts.at(-1) ?? '')
  }

  /** Nothing of it is needed any more. Permits that are left without a lease are as good as used: the rate forgets them soon. */
  isDone(nowMs: number): boolean {
    return this.waiting.length === 0 && !this.locks.isWaiting && this.rest.isIdle(nowMs) && this.lease?.isOut !== true
  }

  /** The key has changed: its leases under the old caps are given back first. */
  private follow(principal: Principal): void {
    this.principal = principal
    this.permits.void()
    this.rest.end()
    this.lease?.giveUpAll()
  }

  private usable(nowMs: number): Lease | undefined {
    const { lease } = this
    return lease !== undefined && nowMs < lease.endMs && this.context.mayUse ? lease : undefined
  }

  private tryHold(waiter: HoldWaiter, tokens: ReservedTokens | null, nowMs: number): boolean {
    const lease = this.usable(nowMs)
    if (lease === undefined || (this.permits.count < 1 && !this.rest.mayOwe(this.permits))) return false
    const { wantUnits } = tokens ?? waiter
    if (lease.free(nowMs, waiter.coinUsdUnits) < wantUnits) return false
    this.hold(waiter, tokens, lease, wantUnits, nowMs)
    return true
  }

  private hold(waiter: HoldWaiter, tokens: ReservedTokens | null, lease: Lease, units: number, nowMs: number): void {
    if (tokens?.isOn(lease) === false) {
      tokens.giveBack()
      this.take(waiter, nowMs)
      return
    }
    waiter.rateLeft = this.permits.use()
    this.rest.used(nowMs)
    this.demand.note(units, nowMs)
    const rest = lease.hold(units, nowMs, waiter.coinUsdUnits)
    const heldAtMs = lease.momentAt(this.context.clock.now())
    const held = heldOf(tokens?.holdWith(rest) ?? rest, heldAtMs, tokens?.units)
    assertMoney(held.units - held.lockUnits === units, 'hold_is_its_parts', waiter.requestId, held.units, units)
    this.shard.opened(waiter, lease, held)
    if (this.waiting.length === 0 && nowMs >= this.renewAtMs) this.renewEarly(lease, nowMs)
  }

  /** Leases more before a key that is used steadily has to wait for it. */
  private renewEarly(lease: Lease, nowMs: number): void {
    if (this.demand.isCovered(lease.free(nowMs, this.coinUsdUnits), this.permits.count, nowMs)) return
    if (this.context.isExact(this.accountId)) return
    this.renewAtMs = nowMs + this.context.limits.leaseDeliverMs
    if (this.phase === 'idle') this.enter('renewing')
    this.shard.want(this)
  }

  private leaseAt(nowMs: number): Lease {
    const lease = this.shard.leaseOf(this.accountId, keysOf(this.principal), Math.floor(nowMs / HOUR_MS))
    if (this.lease !== lease) this.lease?.giveUpAll()
    this.lease = lease
    return lease
  }

  /** Asks for those that wait on. */
  private askAgain(): void {
    if (this.waiting.length > 0) this.shard.want(this)
    else this.enter('idle')
  }

  private refuse(waiting: WaitingRest, code: number, retryMs: number): void {
    waiting.tokens?.giveBack()
    this.context.refuse(waiting.waiter, { code, retryMs, leastUnits: restOf(waiting).leastUnits })
  }

  private enter(phase: KeyPhase): void {
    assertKey(this.phase, phase)
    this.phase = phase
  }

  // Only where Redis had less than was asked for, the lease has all that is left, and the first request may get less than it wants.
  // A lease may be short without that: of units that were given up meanwhile, or for a request that came while more was leased.
  private serve(lease: Lease, nowMs: number, isAll: boolean): void {
    let served = 0
    for (const waiting of this.waiting) {
      const { waiter, tokens } = waiting
      const { leastUnits, wantUnits } = restOf(waiting)
      const free = lease.free(nowMs, waiter.coinUsdUnits)
      const units = isAll && served === 0 && free >= leastUnits ? Math.min(wantUnits, free) : wantUnits
      if (this.permits.count < 1 || units > free) break
      served++
      this.hold(waiter, tokens, lease, units, nowMs)
    }
    this.waiting.splice(0, served)
  }

  private refused({ code, units, retryMs, out }: LeaseAnswer, nowMs: number): void {
    if (this.waiting.length === 0) return
    if (code === HoldCode.RATE || code === HoldCode.NO_ACCOUNT || code === HoldCode.BACKLOG)
      return this.refuseAll(code, retryMs)
    if (this.mayComeBack(out, nowMs)) return
    if (this.phase === 'recalling') this.enter('asking')
    const usable = this.usable(nowMs)
    const { refused, others } = shortOf(this.waiting, (price) => units + (usable?.free(nowMs, price) ?? 0))
    this.waiting = others
    this.permits.lose(refused.length)
    // First, because whoever hears of a refusal may ask for another hold immediately.
    this.askAgain()
    for (const waiting of refused) this.refuse(waiting, code, 0)
  }

  /** Recalls the idle leases of other processes and retries soon. @returns false when nothing is out, or the wait is over */
  private mayComeBack(out: number, nowMs: number): boolean {
    if (this.phase === 'asking') {
      if (out <= 0) return false
      this.enter('recalling')
      this.recallUntilMs = nowMs + this.context.limits.recallWaitMs
      this.context.recall(this.accountId)
    } else if (nowMs >= this.recallUntilMs) {
      return false
    }
    this.context.retrySoon(this.retry)
    return true
  }
}
