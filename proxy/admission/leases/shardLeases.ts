import { HoldCode, LeaseCode } from '../../../contract/wire/scripts.ts'
import type { EndingWaiter } from '../ending.ts'
import type { Held } from '../held.ts'
import type { HoldWaiter } from '../holds.ts'
import { endingText } from '../journal/records.ts'
import { Agreement } from './agreement.ts'
import { EndingQueue } from './endingQueue.ts'
import type { KeyLeases } from './keyLeases.ts'
import type { KeyShard } from './keyShard.ts'
import { KeyTable } from './keyTable.ts'
import type { Lease } from './lease.ts'
import type { LeaseContext } from './leaseContext.ts'
import { LeaseTable, type UsedParts, usedParts } from './leaseTable.ts'
import { EndedHold, type OpenHold } from './openHold.ts'
import type { OpenHolds } from './openHolds.ts'
import { type NotTaken, ShardCalls } from './shardCalls.ts'

/**
 * The leases of a process in one shard. Its calls to Redis are sequential, so that each sees the result of the one before;
 * all requests of a turn of the event loop are one call.
 */
export class ShardLeases implements KeyShard<KeyLeases> {
  readonly shard: number
  readonly keys: KeyTable
  readonly leases: LeaseTable
  readonly endings: EndingQueue
  private readonly context: LeaseContext
  private readonly open: OpenHolds
  private readonly calls: ShardCalls
  private wanting = new Set<KeyLeases>()
  private scheduled = false
  private running: Promise<void> | undefined
  /** Something is to be delivered or given back in the next call. */
  private isDue = false
  private readonly agreement = new Agreement()
  private retryAtMs = 0
  /** Deliveries pause until then, because admission was closed; requests for leases do not. */
  private restsUntilMs = 0
  private readonly start = (): void => {
    this.scheduled = false
    this.running ??= this.run()
  }

  constructor(shard: number, context: LeaseContext, open: OpenHolds) {
    this.shard = shard
    this.context = context
    this.open = open
    this.calls = new ShardCalls(shard, context)
    this.leases = new LeaseTable(shard)
    this.keys = new KeyTable(this, context, () => this.deliverSoon())
    this.endings = new EndingQueue(context)
  }

  /** No lease is out, no hold is open, and no ending is undelivered. */
  get isIdle(): boolean {
    return this.running === undefined && this.endings.length === 0 && this.leases.size === 0 && this.keys.isEmpty
  }

  /** After a loss of Redis, this shard has to be reported: an amount is out or held, or was delivered. */
  get mustTell(): boolean {
    return !this.isIdle || this.endings.lastDelivered > 0 || this.open.isIn(this.shard)
  }

  take(waiter: HoldWaiter, nowMs: number): void {
    this.keys.use(waiter.principal).take(waiter, nowMs)
  }

  /**
   * Ends a request.
   * @param chargeUnits a part of the hold, or below zero for nothing
   * @param settlement a Settlement message, one character a byte
   */
  end(hold: OpenHold, chargeUnits: number, settlement: string, waiter: EndingWaiter | null): void {
    const ending = hold.end(this.endings.nextSeq, chargeUnits, settlement)
    this.endings.add(ending)
    const ended = new EndedHold(ending, Math.max(0, chargeUnits), waiter, (left) => {
      this.endings.waitForRedis(left)
      this.deliverSoon()
    })
    this.context.journal.append(endingText(hold.lease.text, ending), ended).noteEnding(this.shard, ending.seq)
  }

  want(key: KeyLeases): void {
    this.wanting.add(key)
    this.schedule()
  }

  opened(waiter: HoldWaiter, lease: Lease, held: Held): void {
    this.open.add(waiter, lease, held)
  }

  leaseOf(accountId: string, keys: string, hour: number): Lease {
    return this.leases.of(accountId, keys, hour)
  }

  /** Gives back immediately everything of an account that is not held. */
  recall(accountId: string): void {
    const nowMs = this.context.clock.now()
    this.keys.recall(accountId, nowMs)
    this.leases.endPast(nowMs)
    this.deliverSoon()
  }

  /** Gives up the units that the keys do not need now. @param all everything that is not held */
  review(nowMs: number, all = false): void {
    this.keys.review(nowMs, all)
    this.leases.endPast(nowMs)
    if (this.keys.areUsed || this.leases.isDue) this.isDue = true
  }

  /** Compares with Redis what is out: amounts that were taken in part are free again then. */
  doubt(): void {
    this.agreement.doubt()
    this.schedule()
  }

  /** Delivers all endings with the next call. */
  deliverSoon(): void {
    this.isDue = true
    this.schedule()
  }

  /** Delivers the endings since the last call; called periodically. @returns whether there was something to do */
  tick(): boolean {
    if (this.endings.length > 0) this.isDue = true
    const hasWork = this.isDue || this.wanting.size > 0 || this.agreement.phase !== 'agreed'
    if (hasWork) this.schedule()
    return hasWork
  }

  /**
   * Reports to a loading of the admission state the amounts that are out, so that it takes them into account. Free amounts
   * of this process are void from now on.
   * @throws when that fails; to be retried
   */
  async reportTo(load: string): Promise<void> {
    await this.running
    this.running = this.reportNow(load).finally(() => {
      this.running = undefined
    })
    await this.running
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.context.turn.add(this.start)
  }

  private async run(): Promise<void> {
    try {
      while (await this.step());
    } catch (error) {
      this.context.onFault(error)
      this.agreement.doubt()
      this.pause()
    } finally {
      this.running = undefined
    }
  }

  /** @returns whether there may be more to do now */
  private async step(): Promise<boolean> {
    if (!this.context.connected() || performance.now() < this.retryAtMs) {
      this.refuseWanting(HoldCode.CLOSED)
      return false
    }
    if (this.agreement.phase === 'unreported') return this.reportNow('').then(() => true)
    if (this.agreement.phase === 'unsure') return this.sync()
    const mayDeliver = this.isDue && performance.now() >= this.restsUntilMs
    if (this.wanting.size > 0 && !(mayDeliver && this.endings.isUrgent)) return this.lease()
    return mayDeliver && this.deliver()
  }

  private async lease(): Promise<boolean> {
    const nowMs = this.context.clock.now()
    const keys = [...this.wanting].slice(0, this.context.limits.holdBatchMax)
    for (const key of keys) this.wanting.delete(key)
    const asked = keys.flatMap((key) => key.asks(nowMs).map((ask) => ({ key, ask })))
    if (asked.length === 0) return true
    try {
      const done = await this.calls.lease(asked.map(({ ask }) => ask))
      if (done.code !== LeaseCode.OK) {
        for (const { key } of asked) this.wanting.add(key)
        return this.notTaken(done)
      }
      for (const [i, { key, ask }] of asked.entries()) {
        const answer = done.answers[i]
        if (answer !== undefined) key.answered(ask, answer, done.nowMs)
        // The recall came while the call was under way: nothing of it may stay idle.
        if (this.context.isExact(key.accountId)) key.giveUp(done.nowMs, true)
      }
      if (this.leases.isDue) this.isDue = true
      return true
    } catch (error) {
      for (const { key } of asked) this.wanting.add(key)
      throw error
    }
  }

  private async deliver(): Promise<boolean> {
    this.isDue = false
    const nowMs = this.context.clock.now()
    const endings = this.endings.first(this.context.limits.leaseDeliverBatchMax)
    for (const { lease } of endings) this.keys.find(lease.keyId)?.ended(nowMs)
    for (const { lease } of endings) this.leases.endPastOf(lease.field, nowMs)
    const permitsOf = (keyId: string): string => this.keys.find(keyId)?.takePermits(nowMs) ?? ''
    const given = this.leases.takeGivenUp(this.context.limits.leaseDeliverBatchMax, permitsOf)
    if (endings.length === 0 && given.length === 0) return false
    const done = await this.calls.deliver(endings, given, this.leases.unsettledWith)
    if (done.code !== LeaseCode.OK) {
      this.isDue = true
      this.leases.giveUpAgain(given)
      if (done.code !== LeaseCode.CLOSED) return this.notTaken(done)
      this.restsUntilMs = performance.now() + this.context.limits.settleRetryMs
      return this.wanting.size > 0
    }
    this.leases.delivered(endings, given, done.unsettled)
    for (const { keyId, count } of done.permitsLeft) this.keys.find(keyId)?.permits.add(0, count)
    this.endings.delivered(endings.length)
    if (this.endings.length > 0 || this.leases.isDue) this.isDue = true
    return true
  }

  private async sync(): Promise<boolean> {
    const done = await this.calls.sync()
    if (done.code !== LeaseCode.OK) return this.notTaken(done)
    if (done.deliveredSeq < this.endings.lastDelivered) {
      // Redis has an older state, and control has not noticed yet.
      this.agreement.lose()
      return true
    }
    this.endings.trim(done.deliveredSeq)
    this.leases.reconcile(done.leases, this.used())
    this.keys.wakeAll()
    this.agreement.settle()
    this.isDue = true
    return true
  }

  private async reportNow(load: string): Promise<void> {
    const bookedSeq = (await this.context.booked()).get(this.shard) ?? 0
    await this.endings.goBackTo(bookedSeq, this.shard)
    const used = this.used()
    this.leases.keepUsed(used)
    this.keys.wakeAll()
    const done = await this.calls.report(load, this.endings.lastDelivered, [...used.values()])
    if (done.code !== LeaseCode.OK) {
      if (load !== '') throw new Error(`the leases of shard ${this.shard} could not be reported: code ${done.code}`)
      this.notTaken(done)
      return
    }
    this.agreement.settle()
    this.retryAtMs = 0
    this.isDue = true
  }

  private used(): UsedParts {
    return usedParts(this.open.ofShard(this.shard), this.endings.all)
  }

  private notTaken({ code }: NotTaken): boolean {
    switch (code) {
      case LeaseCode.UNKNOWN_EPOCH:
      case LeaseCode.OWNER_CLOSED:
        // Before the first lease there is no epoch to compare with; after a report, this is the epoch that it was made for.
        if (code === LeaseCode.UNKNOWN_EPOCH && this.calls.epoch === '') this.calls.epoch = this.calls.inForce
        else this.agreement.lose()
        return true
      case LeaseCode.STALE:
        this.agreement.doubt()
        return true
      default:
        this.pause()
        return false
    }
  }

  private refuseWanting(code: number): void {
    const { wanting } = this
    this.wanting = new Set()
    for (const key of wanting) key.refuseAll(code)
  }

  private pause(): void {
    this.refuseWanting(HoldCode.CLOSED)
    this.retryAtMs = performance.now() + this.context.limits.settleRetryMs
    this.isDue = true
  }
}
