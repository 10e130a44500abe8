import { coinFor, valueOfCoin } from '../../../contract/money/coin.ts'
import { assertMoney } from '../../../contract/money/moneyFault.ts'
import type { GrantPart } from '../../../contract/wire/grantParts.ts'
import { leaseText } from '../journal/records.ts'
import { coinParts, isNothing, NO_GRANTS, NO_PARTS, outOf, type Parts, PartsSum, sumUnits } from '../parts.ts'
import { type FreeGrant, FreeLocks } from './freeLocks.ts'
import { HOUR_MS, keyIdOf, type LeaseIdentity, type LeaseOrigin, leaseField } from './leaseName.ts'

const RULE = 'lease_covers_hold'

/** The amounts that Redis has leased. */
export interface Leased {
  readonly coinUnits: number
  readonly coinNanos: number
  /** In the order that they are to be spent. */
  readonly grants: readonly FreeGrant[]
}

/** The lease or single hold that a request's hold is a part of. */
export interface HeldFrom {
  readonly name: LeaseIdentity
  /** The prefix of its records in the journal. */
  readonly text: string
  /** Takes back the uncharged part of a hold. @param charged a part of `held` */
  release(held: Parts, charged: Parts): void
}

/**
 * Units of one key that this process may hold in one hour without asking Redis: pure arithmetic. Its coin is nanos, with the
 * units that were counted in the windows for them; a request takes from both, by its own price of a coin.
 */
export class Lease implements HeldFrom {
  readonly name: LeaseIdentity
  readonly field: string
  readonly text: string
  /** From then on nothing may be held on it, on Redis's clock. */
  readonly endMs: number
  /** The coin that Redis has out for it by its answers: free, held, given up, and charged but not delivered. */
  private outNanos = 0
  private outCoinUnits = 0
  private outGrantUnits = 0
  private freeNanos = 0
  private freeCoinUnits = 0
  private freeGrants: FreeGrant[] = []
  /** Tokens of locks, which only requests of their models may hold. */
  private readonly freeLocks = new FreeLocks()
  /** No longer used here, and not yet given back to Redis. */
  private givenUpNanos = 0
  private givenUpCoinUnits = 0
  private readonly givenUpGrants = new Map<string, number>()
  /** Charges that Redis has got and will take off with a later delivery. */
  private unsettled = new PartsSum()
  private readonly due: Set<Lease> | undefined

  /** @param due where it puts itself when it has something for the next delivery */
  constructor(origin: LeaseOrigin, due?: Set<Lease>) {
    this.due = due
    this.field = leaseField(origin.keys, origin.hour)
    this.name = { ...origin, field: this.field, keyId: keyIdOf(origin) }
    this.text = leaseText(this.name)
    this.endMs = (origin.hour + 1) * HOUR_MS
  }

  /**
   * The moment of a hold on it, within its hour: the book counts a hold in the hour of its moment, Redis in that of the lease,
   * and the process may have been delayed beyond the hour since it chose the lease.
   */
  momentAt(nowMs: number): number {
    return Math.min(Math.max(nowMs, this.endMs - HOUR_MS), this.endMs - 1)
  }

  /** Redis has something out for it. */
  get isOut(): boolean {
    return this.outNanos + this.outGrantUnits !== 0
  }

  /** The units counted for the amounts that are out. */
  get outUnits(): number {
    return this.outCoinUnits + this.outGrantUnits
  }

  /** Adds amounts that Redis has leased. */
  add({ coinUnits, coinNanos, grants }: Leased): void {
    this.freeNanos += coinNanos
    this.freeCoinUnits += coinUnits
    this.outNanos += coinNanos
    this.outCoinUnits += coinUnits
    for (const { grantId, expiresAtMs, units } of grants) {
      this.outGrantUnits += units
      const known = this.freeGrants.find((grant) => grant.grantId === grantId)
      if (known === undefined) this.freeGrants.push({ grantId, expiresAtMs, units })
      else known.units += units
    }
    if (grants.length > 0) this.freeGrants.sort((a, b) => a.expiresAtMs - b.expiresAtMs)
  }

  /** Adds tokens of a lock that Redis has leased. */
  addLock(leased: FreeGrant): void {
    this.outGrantUnits += leased.units
    this.freeLocks.add(leased)
  }

  /** Tokens of locks, which only requests of their models may hold. */
  get locks(): FreeLocks {
    return this.freeLocks
  }

  /**
   * Redis has taken these amounts off the lease, as charged or as given back. Once no coin is out, no units are counted for
   * it any more.
   */
  takenOff({ coinUnits, coinNanos, grants }: Parts): void {
    const granted = sumUnits(grants)
    assertMoney(granted <= this.outGrantUnits, RULE, this.field, granted, this.outGrantUnits)
    assertMoney(coinNanos <= this.outNanos, RULE, this.field, coinNanos, this.outNanos)
    this.outGrantUnits -= granted
    this.outNanos -= coinNanos
    this.outCoinUnits = Math.max(0, this.outCoinUnits - coinUnits)
    if (this.outNanos !== 0) return
    this.outCoinUnits = 0
    this.freeCoinUnits = 0
    this.givenUpCoinUnits = 0
  }

  /**
   * The charges that Redis has without having settled them, with these: null where they are to be settled now, so that at most
   * half of the amount that Redis counts as out is charged, and a lease that ends is settled.
   */
  unsettledWith(charged: Parts): Parts | null {
    const { outNanos, outGrantUnits, unsettled } = this
    const all = new PartsSum()
    all.add(unsettled)
    all.add(charged)
    if (isNothing(charged)) return all
    if (charged.coinNanos > 0 && charged.coinNanos >= outNanos) return null
    return outOf(all) <= outNanos + outGrantUnits - outOf(charged) ? all : null
  }

  /** Redis has got a charge that it will settle later. */
  leaveUnsettled(charged: Parts): void {
    this.unsettled.add(charged)
    this.takenOff(charged)
  }

  /** Redis has settled all charges of the lease. */
  settled(): void {
    this.unsettled = new PartsSum()
  }

  /** Units that may be held now, at this price of a coin. */
  free(nowMs: number, coinUsdUnits: number): number {
    let units = this.freeCoin(coinUsdUnits)
    for (const grant of this.freeGrants) if (grant.expiresAtMs > nowMs) units += grant.units
    return units
  }

  /** Holds units, at most the free ones at this price of a coin: grants first. */
  hold(units: number, nowMs: number, coinUsdUnits: number): Parts {
    if (this.freeGrants.length === 0) return this.holdCoin(units, coinUsdUnits, NO_GRANTS)
    let left = units
    const grants: GrantPart[] = []
    for (const grant of this.freeGrants) {
      const part = grant.expiresAtMs > nowMs ? Math.min(left, grant.units) : 0
      if (part === 0) continue
      grant.units -= part
      left -= part
      grants.push({ grantId: grant.grantId, units: part })
    }
    return this.holdCoin(left, coinUsdUnits, grants)
  }

  /** Frees the uncharged part of a hold. @param charged a part of `held` */
  release(held: Parts, charged: Parts): void {
    this.freeNanos += held.coinNanos - charged.coinNanos
    this.freeCoinUnits += held.coinUnits - charged.coinUnits
    for (const { grantId, units } of held.grants) {
      const spent = charged.grants.find((part) => part.grantId === grantId)?.units ?? 0
      const known = this.freeGrants.find((grant) => grant.grantId === grantId) ?? this.freeLocks.of(grantId)
      if (known !== undefined) known.units += units - spent
      else if (units > spent) this.giveUpGrant(grantId, units - spent)
    }
  }

  /** Gives up the free units beyond `keepUnits`: coin first, because it is the last to be spent. */
  giveUp(keepUnits: number, nowMs: number, coinUsdUnits: number): void {
    let excess = this.free(nowMs, coinUsdUnits) - keepUnits
    const freeCoin = this.freeCoin(coinUsdUnits)
    const coin = Math.max(0, Math.min(excess, freeCoin))
    if (coin > 0) this.giveUpCoin(freeCoin - coin, coinFor(freeCoin - coin, coinUsdUnits))
    excess -= coin
    for (const grant of this.freeGrants.toReversed()) {
      const isOver = grant.expiresAtMs <= nowMs
      const part = isOver ? grant.units : Math.max(0, Math.min(excess, grant.units))
      grant.units -= part
      if (!isOver) excess -= part
      this.giveUpGrant(grant.grantId, part)
    }
    if (this.freeGrants.length > 0) this.freeGrants = this.freeGrants.filter(({ units }) => units > 0)
  }

  /**
   * Gives up everything that is not held, also amounts too small to be worth a unit.
   * @param keepsLocks except tokens of locks, which requests wait for
   */
  giveUpAll(keepsLocks = false): void {
    this.giveUpCoin(0, 0)
    for (const { grantId, units } of this.freeGrants) this.giveUpGrant(grantId, units)
    this.freeGrants = []
    if (!keepsLocks) this.giveUpLocks()
  }

  /** Gives up tokens of locks that are not held. */
  giveUpLocks(): void {
    for (const { grantId, units } of this.freeLocks.takeAll()) this.giveUpGrant(grantId, units)
  }

  /** Makes the next delivery include it. */
  noteDue(): void {
    this.due?.add(this)
  }

  /** Whether everything that is free stays so until then, on Redis's clock. */
  lastsUntil(untilMs: number): boolean {
    return this.freeGrants.every((grant) => grant.expiresAtMs > untilMs)
  }

  /** Whether there is something to give back. */
  get hasGivenUp(): boolean {
    return this.givenUpNanos > 0 || this.givenUpCoinUnits > 0 || this.givenUpGrants.size > 0
  }

  /** The given-up amounts, for the call that gives them back; from here on they belong to Redis. */
  takeGivenUp(): Parts {
    const grants = [...this.givenUpGrants].map(([grantId, units]) => ({ grantId, units }))
    const parts = { coinUnits: this.givenUpCoinUnits, coinNanos: this.givenUpNanos, grants }
    this.givenUpCoinUnits = 0
    this.givenUpNanos = 0
    this.givenUpGrants.clear()
    return parts
  }

  /** Restores amounts whose return failed. */
  giveUpAgain({ coinUnits, coinNanos, grants }: Parts): void {
    this.givenUpCoinUnits += coinUnits
    this.givenUpNanos += coinNanos
    this.noteDue()
    for (const { grantId, units } of grants) this.giveUpGrant(grantId, units)
  }

  /**
   * After calls whose answers were lost: gives up every amount that Redis has out beyond those that are accounted for.
   * @param out the amounts that Redis has out, without unsettled charges
   * @param used the amounts that are held, or charged and not delivered
   * @param unsettled the charges that Redis has not settled
   */
  reconcile(out: Parts, used: Parts, unsettled: Parts = NO_PARTS): void {
    this.settled()
    this.unsettled.add(unsettled)
    this.outNanos = out.coinNanos
    this.outCoinUnits = out.coinUnits
    this.outGrantUnits = sumUnits(out.grants)
    this.freeNanos = 0
    this.freeCoinUnits = 0
    this.freeGrants = []
    this.freeLocks.void()
    this.givenUpGrants.clear()
    this.givenUpNanos = Math.max(0, out.coinNanos - used.coinNanos)
    this.givenUpCoinUnits = Math.max(0, out.coinUnits - used.coinUnits)
    for (const { grantId, units } of out.grants) {
      const usedUnits = used.grants.find((part) => part.grantId === grantId)?.units ?? 0
      this.giveUpGrant(grantId, Math.max(0, units - usedUnits))
    }
    this.noteDue()
  }

  /** Redis has lost the lease: its free units are void. @param used amounts that are held, or charged and not delivered */
  voidFree(used: Parts): void {
    this.reconcile(used, used)
  }

  private freeCoin(coinUsdUnits: number): number {
    return Math.min(valueOfCoin(this.freeNanos, coinUsdUnits), this.freeCoinUnits)
  }

  private holdCoin(units: number, coinUsdUnits: number, grants: readonly GrantPart[]): Parts {
    const parts = coinParts(units, coinUsdUnits, grants)
    assertMoney(units >= 0 && units <= this.freeCoinUnits, RULE, this.field, units, this.freeCoinUnits)
    assertMoney(parts.coinNanos <= this.freeNanos, RULE, this.field, parts.coinNanos, this.freeNanos)
    this.freeNanos -= parts.coinNanos
    this.freeCoinUnits -= units
    return parts
  }

  private giveUpCoin(keepUnits: number, keepNanos: number): void {
    if (this.freeCoinUnits === keepUnits && this.freeNanos === keepNanos) return
    this.givenUpCoinUnits += this.freeCoinUnits - keepUnits
    this.givenUpNanos += this.freeNanos - keepNanos
    this.freeCoinUnits = keepUnits
    this.freeNanos = keepNanos
    this.noteDue()
  }

  private giveUpGrant(grantId: string, units: number): void {
    if (units > 0) this.givenUpGrants.set(grantId, (this.givenUpGrants.get(grantId) ?? 0) + units)
    if (units > 0) this.noteDue()
  }
}
