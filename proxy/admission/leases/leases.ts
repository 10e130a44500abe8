import { GatewayError } from '../../../contract/errors/errors.ts'
import { SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import type { FixedArguments } from '../../../contract/wire/scriptArguments.ts'
import { HoldCode } from '../../../contract/wire/scripts.ts'
import type { KeyDependents } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import { checkDeadlines } from '../../checkDeadlines.ts'
import type { RestingChecks } from '../../restingChecks.ts'
import type { Ending, EndingWaiter, Settlements, Settling } from '../ending.ts'
import { holdRefusal, type Refusal } from '../holdRefusal.ts'
import type { Holding, HoldWaiter } from '../holds.ts'
import { RECALL_STEPS } from '../limits.ts'
import { notifyWaiter } from '../notifyWaiter.ts'
import type { LeaseContext } from './leaseContext.ts'
import { NextTurn } from './nextTurn.ts'
import type { OpenHold } from './openHold.ts'
import { OpenHolds } from './openHolds.ts'
import { RecentEndings } from './recentEndings.ts'
import { RedisClock } from './redisClock.ts'
import { RestingKeys } from './restingKeys.ts'
import { ShardLeases } from './shardLeases.ts'
import { tickInSlots } from './shardTicks.ts'
import { isSingle } from './singleHold.ts'
import { SingleTaking, withoutCharge } from './singleTaking.ts'

const JOURNAL_CLOSED =
  'The gateway cannot write its journal; nothing ran. Try again after Retry-After seconds, which may reach another process.'

export interface LeasesOptions
  extends Pick<LeaseContext, 'owner' | 'scripts' | 'limits' | 'journal' | 'connected' | 'serverChanges'>,
    Pick<LeaseContext, 'booked' | 'journaled' | 'onFault'> {
  /** Publishes that an account is called back. */
  readonly publishRecall: (accountId: string) => void
  /** Ends holds that this process may have without knowing it. */
  readonly strays: Settling
}

/** The leases of a process, for its metrics. */
export interface LeaseCounts {
  readonly leases: number
  /** Those of them that no request has used for a while, and that stay all the same. */
  readonly resting: number
  readonly outUnits: number
  readonly openHolds: number
  readonly undelivered: number
  /** Accounts that were called back. */
  readonly recalls: number
  /** Age of the oldest undelivered ending, counted from its hold, in milliseconds; 0 for none. */
  readonly deliveryLagMs: number
}

/**
 * Holds requests on units that this process has leased, and ends them: arithmetic and a line in the journal. Leases are
 * requested from Redis and endings are delivered to it in the background, in batches.
 */
export class Leases implements Holding, Settlements, KeyDependents {
  private readonly options: LeasesOptions
  private readonly clock = new RedisClock()
  private readonly open: OpenHolds
  private readonly shards: readonly ShardLeases[]
  private readonly recent: RecentEndings
  private readonly resting: RestingKeys
  private readonly exactUntilMs = new Map<string, number>()
  private readonly ticks: RestingChecks
  private readonly reviews: NodeJS.Timeout
  private heardAtMs = Number.NEGATIVE_INFINITY
  private recalls = 0

  constructor(options: LeasesOptions) {
    this.options = options
    const { limits } = options
    this.open = new OpenHolds(options.journal)
    this.recent = new RecentEndings(limits.endedKnownMax)
    this.resting = new RestingKeys(limits)
    const context = this.newContext()
    this.shards = Array.from({ length: SHARD_COUNT }, (_, shard) => new ShardLeases(shard, context, this.open))
    this.ticks = tickInSlots(this.shards, limits.leaseDeliverMs, limits.leaseDemandMs)
    this.reviews = checkDeadlines(limits.leaseDemandMs, () => this.review())
  }

  take(waiter: HoldWaiter): void {
    const shard = this.shards[waiter.principal.shard]
    if (!this.options.journal.accepts) this.refuseUnwritable(waiter)
    else if (shard === undefined) this.refuseLater(waiter)
    else {
      try {
        shard.take(waiter, this.clock.now())
      } catch (error) {
        shard.doubt()
        this.options.onFault(error)
        waiter.onCrashed(error)
      }
    }
  }

  /**
   * Makes holds that Redis keeps by themselves end like those on leases.
   * @param source takes them
   */
  singly(source: Holding): Holding {
    const { open } = this
    return {
      take: (waiter) => {
        if (!this.options.journal.accepts) return this.refuseUnwritable(waiter)
        source.take(
          new SingleTaking(waiter, (single, held) => {
            open.addSingle(waiter, single, held)
          }),
        )
      },
    }
  }

  get endsInTurn(): boolean {
    return this.options.journal.writesInTurn
  }

  end(ending: Ending, keys: FixedArguments, waiter: EndingWaiter | null): void {
    const hold = this.open.get(ending.requestId)
    if (hold === undefined) {
      this.options.strays.end(ending, keys, waiter)
      return
    }
    if (isSingle(hold.lease.name.field)) this.endSingle(hold, ending, waiter)
    else this.shards[ending.shard]?.end(hold, ending.chargeUnits, ending.settlement, waiter)
    this.ticks.wake()
    // Last, so that the hold of an ending that breaks a rule stays.
    this.open.remove(hold)
    this.recent.add(ending.requestId, ending.shard, performance.now())
  }

  /** Redis has answered something else in time. @param sentAtMs by performance.now() */
  readonly heard = (sentAtMs: number, redisMs: number): void => {
    // After such a silence the process may have been taken for dead, and its leases given to others.
    if (sentAtMs - this.heardAtMs >= this.options.limits.leaseSilenceMs) this.endAllRests()
    this.heardAtMs = Math.max(this.heardAtMs, sentAtMs)
    this.clock.note(sentAtMs, redisMs)
  }

  /** Gives back the idle amounts of an account, and leases hold by hold for a while. */
  recalled(accountId: string): void {
    this.exactUntilMs.set(accountId, performance.now() + this.options.limits.recallExactMs)
    this.shards[shardOf(accountId)]?.recall(accountId)
  }

  /** Gives back the leases of an account that rest, so that its free balance is seen as it is. */
  endRests(accountId: string): void {
    this.shards[shardOf(accountId)]?.keys.endRests(accountId)
  }

  /** A key has changed, or is gone: gives back its lease if it rests. */
  keyChanged({ keyId, shard }: Principal): void {
    this.shards[shard]?.keys.endRestOf(keyId)
  }

  keysChanged(): void {
    this.endAllRests()
  }

  /** Gives back all leases that rest, because messages of the other processes may have been missed. */
  endAllRests(): void {
    for (const shard of this.shards) shard.keys.endRests()
  }

  /**
   * Whether a request is or was served here. An ended one is on its way to the book.
   * @returns undefined when more requests end here than are remembered until they are booked
   */
  asked(requestId: string): 'open' | 'ended' | 'unknown' | undefined {
    if (this.open.get(requestId) !== undefined) return 'open'
    const shard = this.recent.shardOf(requestId)
    if (shard === undefined) {
      return this.recent.reachBackTo(performance.now() - this.options.limits.askedMs) ? 'unknown' : undefined
    }
    this.shards[shard]?.deliverSoon()
    return 'ended'
  }

  /** Reports to a loading of the admission state the amounts that this process has out. @throws when that fails */
  async reportTo(load: string): Promise<void> {
    await Promise.all(this.shards.filter((shard) => shard.mustTell).map((shard) => shard.reportTo(load)))
  }

  /** The book has endings up to these numbers, by shard. */
  noteBooked(booked: ReadonlyMap<number, number>): void {
    const { journal } = this.options
    journal.trim(booked)
    const pinned = journal.pinned(booked)
    if (pinned !== undefined) this.open.writeAgain(pinned)
  }

  get counts(): LeaseCounts {
    return {
      leases: this.shards.reduce((sum, shard) => sum + shard.leases.size, 0),
      resting: this.resting.size,
      outUnits: this.shards.reduce((sum, shard) => sum + shard.leases.outUnits, 0),
      openHolds: this.open.size,
      undelivered: this.undelivered,
      recalls: this.recalls,
      deliveryLagMs: this.deliveryLagMs,
    }
  }

  /** The time since Redis answered last. */
  private get silentMs(): number {
    return performance.now() - this.heardAtMs
  }

  private get deliveryLagMs(): number {
    const oldest = Math.min(...this.shards.map((shard) => shard.endings.oldestHeldAtMs))
    return Number.isFinite(oldest) ? Math.max(0, this.clock.now() - oldest) : 0
  }

  /** The least number of endings that there will have been: each request in the journal has one, also when this process dies. */
  get begun(): number {
    return this.shards.reduce((sum, shard) => sum + shard.endings.nextSeq - 1, this.open.writtenCount)
  }

  /** Endings that Redis does not have yet. */
  get undelivered(): number {
    return this.shards.reduce((sum, shard) => sum + shard.endings.length, 0)
  }

  /** Gives everything back. @returns whether Redis has all of it before `timeoutMs` */
  async stop(timeoutMs: number): Promise<boolean> {
    const untilMs = performance.now() + timeoutMs
    while (!this.shards.every((shard) => shard.isIdle) && performance.now() < untilMs) {
      for (const shard of this.shards) {
        if (shard.isIdle) continue
        shard.review(Number.POSITIVE_INFINITY, true)
        shard.tick()
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    this.ticks.stop()
    clearInterval(this.reviews)
    return this.shards.every((shard) => shard.isIdle)
  }

  /** The uncharged part of such a hold is freed by the delivery, so it is delivered immediately. */
  private endSingle(hold: OpenHold, { shard, chargeUnits, settlement }: Ending, waiter: EndingWaiter | null): void {
    // After a silence of that length control may give the request up.
    const isLate = this.silentMs >= this.options.limits.orphanVoidMs / 2
    this.shards[shard]?.end(hold, chargeUnits, settlement, waiter !== null && isLate ? withoutCharge(waiter) : waiter)
    this.shards[shard]?.deliverSoon()
  }

  private review(): void {
    const nowMs = this.clock.now()
    this.resting.review(nowMs)
    for (const shard of this.shards) if (!shard.isIdle) shard.review(nowMs)
    for (const [accountId, untilMs] of this.exactUntilMs) {
      if (untilMs < performance.now()) this.exactUntilMs.delete(accountId)
    }
  }

  private refuseLater(waiter: HoldWaiter): void {
    setImmediate(() => this.refuse(waiter, { code: HoldCode.CLOSED, retryMs: 0, leastUnits: waiter.leastUnits }))
  }

  private refuseUnwritable(waiter: HoldWaiter): void {
    const error = new GatewayError('admission_unavailable', { message: JOURNAL_CLOSED, retryAfterSeconds: 2 })
    setImmediate(() => notifyWaiter(waiter, (told) => told.onHoldRefused(error), this.options.onFault))
  }

  private refuse(waiter: HoldWaiter, refusal: Refusal): void {
    const error = holdRefusal(waiter, refusal, this.options.onFault)
    notifyWaiter(waiter, (told) => told.onHoldRefused(error), this.options.onFault)
  }

  private recall(accountId: string): void {
    this.recalls++
    this.exactUntilMs.set(accountId, performance.now() + this.options.limits.recallExactMs)
    this.options.publishRecall(accountId)
  }

  private newContext(): LeaseContext {
    const { options, clock } = this
    const { owner, scripts, limits, journal, connected, serverChanges, booked, journaled, onFault } = options
    const silent = (): boolean => this.silentMs >= limits.leaseSilenceMs
    return {
      owner,
      scripts,
      limits,
      clock,
      journal,
      resting: this.resting,
      turn: new NextTurn(),
      connected,
      serverChanges,
      get mayUse() {
        return !silent()
      },
      isExact: (accountId) => this.exactUntilMs.has(accountId),
      refuse: (waiter, refusal) => this.refuse(waiter, refusal),
      recall: (accountId) => this.recall(accountId),
      retrySoon: (retry) => setTimeout(retry, limits.recallWaitMs / RECALL_STEPS),
      answered: (sentAtMs, redisMs) => this.heard(sentAtMs, redisMs),
      booked,
      journaled,
      onFault,
    }
  }
}
