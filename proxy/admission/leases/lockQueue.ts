import { HoldCode } from '../../../contract/wire/scripts.ts'
import type { Principal } from '../../access/principal.ts'
import type { HoldWaiter, LockWant } from '../holds.ts'
import type { Lease } from './lease.ts'
import type { LeaseAnswer, LeaseAsk } from './leaseCall.ts'
import { ReservedTokens } from './reservedTokens.ts'

/** The functions of its key that the queue needs. */
export interface LockHost {
  /** Holds the rest for a request that has tokens, or all of it for one that has none. */
  holdRest(waiter: HoldWaiter, tokens: ReservedTokens | null, nowMs: number): void
  /** Makes the key ask Redis for tokens. */
  wantLocks(): void
}

/** The requests that wait for tokens of one series. */
interface Line {
  readonly want: LockWant
  waiting: { readonly waiter: HoldWaiter; readonly want: LockWant }[]
  /** The number of waiting requests for which Redis was already asked. */
  asked: number
}

/**
 * The requests of one key that wait for tokens of locks. Each gets the available tokens, at most those that it needs, in
 * order of arrival. Exactly the needed amount is leased, and the rest is given back with the next delivery, so that other
 * processes can use it.
 */
export class LockQueue {
  private readonly host: LockHost
  private readonly lines = new Map<string, Line>()

  constructor(host: LockHost) {
    this.host = host
  }

  get isWaiting(): boolean {
    return this.lines.size > 0
  }

  /** @param lease that may be held on now */
  take(waiter: HoldWaiter, want: LockWant, lease: Lease | undefined, nowMs: number): void {
    const line = this.lines.get(want.seriesId)
    if (line !== undefined) line.waiting.push({ waiter, want })
    else if (lease !== undefined && lease.locks.unitsOf(want.seriesId, nowMs) >= want.wantUnits) {
      this.host.holdRest(waiter, new ReservedTokens(want, lease, want.wantUnits), nowMs)
      return
    } else this.lines.set(want.seriesId, { want, waiting: [{ waiter, want }], asked: 0 })
    this.host.wantLocks()
  }

  /** The leases to ask for now. */
  asks(principal: Principal, coinUsdUnits: number, lease: Lease | undefined, nowMs: number): LeaseAsk[] {
    return [...this.lines.values()].map((line) => {
      const { seriesId, microUnits } = line.want
      let wantUnits = -(lease?.locks.unitsOf(seriesId, nowMs) ?? 0)
      for (const { want } of line.waiting) wantUnits += want.wantUnits
      line.asked = line.waiting.length
      return {
        principal,
        waiting: 0,
        leastUnits: 0,
        wantUnits: Math.min(Math.max(0, wantUnits), Number.MAX_SAFE_INTEGER),
        extraUnits: 0,
        extraPermits: 0,
        coinUsdUnits,
        lock: { seriesId, microUnits },
      }
    })
  }

  /**
   * Processes Redis's answer for a series. When it refuses, by a cap for example, the rest of the hold is refused for the
   * same reason. Where it has given all that it was asked for and tokens are missing all the same, those that the lease had are no longer
   * on it, as at the turn of the hour: it is asked again.
   * @param askedUnits that Redis was asked for
   * @param lease that the tokens are on; undefined when there are none
   */
  answered(seriesId: string, askedUnits: number, answer: LeaseAnswer, lease: Lease | undefined, nowMs: number): void {
    const line = this.lines.get(seriesId)
    if (answer.code === HoldCode.OK) for (const grant of answer.grants) lease?.addLock(grant)
    if (line === undefined) return
    const isAll = answer.code !== HoldCode.OK || answer.units < askedUnits
    const served = line.waiting.splice(0, line.asked)
    line.asked = 0
    if (line.waiting.length === 0) this.lines.delete(seriesId)
    else this.host.wantLocks()
    for (const { waiter, want } of served) {
      const free = lease?.locks.unitsOf(seriesId, nowMs) ?? 0
      if (free < want.wantUnits && !isAll) {
        this.take(waiter, want, undefined, nowMs)
        continue
      }
      const units = Math.min(want.wantUnits, free)
      const tokens = lease === undefined || units === 0 ? null : new ReservedTokens(want, lease, units)
      this.host.holdRest(waiter, tokens, nowMs)
    }
  }

  /** Removes and returns all waiting requests. */
  takeAll(): HoldWaiter[] {
    const waiting = [...this.lines.values()].flatMap((line) => line.waiting.map(({ waiter }) => waiter))
    this.lines.clear()
    return waiting
  }
}
