import { isNothing, NO_PARTS, type Parts, PartsSum } from '../parts.ts'
import type { GivenBack, LeasedEnding, Unsettled } from './batch.ts'
import { Lease } from './lease.ts'
import { type LeaseIdentity, leaseField } from './leaseName.ts'
import type { OpenHold } from './openHold.ts'
import type { LeasedParts } from './shardCalls.ts'
import { isSingle } from './singleHold.ts'

/** The amounts that are held, or charged and not delivered, by the name of their lease. */
export type UsedParts = ReadonlyMap<string, LeasedParts>

/** The leases of a shard, each for as long as Redis has something out for it. */
export class LeaseTable {
  private readonly shard: number
  private readonly leases = new Map<string, Lease>()
  /** Those with something for the next delivery. */
  private readonly due = new Set<Lease>()
  /** When the first hour of them is over; no lease has to be looked at before. */
  private nextEndMs = Number.POSITIVE_INFINITY

  constructor(shard: number) {
    this.shard = shard
  }

  get size(): number {
    return this.leases.size
  }

  get outUnits(): number {
    let units = 0
    for (const lease of this.leases.values()) units += lease.outUnits
    return units
  }

  /** The lease of a key in an hour; it is created when it does not exist. */
  of(accountId: string, keys: string, hour: number): Lease {
    const field = leaseField(keys, hour)
    const known = this.leases.get(field)
    if (known !== undefined) return known
    const lease = new Lease({ shard: this.shard, accountId, keys, hour }, this.due)
    this.leases.set(field, lease)
    this.nextEndMs = Math.min(this.nextEndMs, lease.endMs)
    return lease
  }

  /** Some have something for the next delivery. */
  get isDue(): boolean {
    return this.due.size > 0
  }

  /** Gives up everything of leases whose hour is over. */
  endPast(nowMs: number): void {
    if (nowMs < this.nextEndMs) return
    // One whose requests are still running stays past, and is looked at until it is gone.
    this.nextEndMs = Number.POSITIVE_INFINITY
    for (const lease of this.leases.values()) {
      this.nextEndMs = Math.min(this.nextEndMs, lease.endMs)
      if (nowMs >= lease.endMs) lease.giveUpAll()
    }
  }

  /** Gives up everything of one lease if its hour is over. */
  endPastOf(field: string, nowMs: number): void {
    if (nowMs < this.nextEndMs) return
    const lease = this.leases.get(field)
    if (lease !== undefined && nowMs >= lease.endMs) lease.giveUpAll()
  }

  /**
   * The amounts that leases give back now.
   * @param countMax of leases; the others give back with the next call
   * @param permitsOf unused permits of a key, as `count,interval`
   */
  takeGivenUp(countMax: number, permitsOf: (keyId: string) => string): GivenBack[] {
    const given: GivenBack[] = []
    for (const lease of this.due) {
      if (given.length === countMax) break
      this.due.delete(lease)
      const permits = permitsOf(lease.name.keyId)
      if (lease.hasGivenUp || permits !== '') given.push({ lease: lease.name, parts: lease.takeGivenUp(), permits })
    }
    return given
  }

  /** Restores amounts whose return was not taken. */
  giveUpAgain(given: readonly GivenBack[]): void {
    for (const { lease, parts } of given) this.leases.get(lease.field)?.giveUpAgain(parts)
  }

  /** As `Lease.unsettledWith`; null for a lease that is not in the table. @param field of the lease */
  readonly unsettledWith: Unsettled = (field, charged) => this.leases.get(field)?.unsettledWith(charged) ?? null

  /** Redis has taken a delivery. @param unsettled the fields of the leases whose charges it has not settled */
  delivered(endings: readonly LeasedEnding[], given: readonly GivenBack[], unsettled: ReadonlySet<string>): void {
    for (const { lease, charged } of endings) {
      if (unsettled.has(lease.field)) this.leases.get(lease.field)?.leaveUnsettled(charged)
      else this.settled(lease.field, charged)
    }
    for (const { lease, parts } of given) if (!unsettled.has(lease.field)) this.settled(lease.field, parts)
  }

  /** Redis has taken this off a lease. */
  private settled(field: string, parts: Parts): void {
    const lease = this.leases.get(field)
    if (lease === undefined) return
    lease.takenOff(parts)
    lease.settled()
    if (!lease.isOut) this.leases.delete(field)
  }

  /** Reconciles the leases with Redis, after calls whose answers were lost. */
  reconcile(out: readonly LeasedParts[], used: UsedParts): void {
    for (const { origin, field, parts, unsettled } of out) {
      const lease = this.of(origin.accountId, origin.keys, origin.hour)
      lease.reconcile(parts, used.get(field)?.parts ?? NO_PARTS, unsettled)
    }
    const known = new Set(out.map(({ field }) => field))
    for (const lease of this.leases.values()) if (!known.has(lease.field)) lease.reconcile(NO_PARTS, NO_PARTS)
    for (const [field, lease] of this.leases) if (!lease.isOut) this.leases.delete(field)
  }

  /** Keeps the used amounts alone: Redis has, or will have, nothing else out. */
  keepUsed(used: UsedParts): void {
    for (const { origin, field } of used.values()) {
      if (!isSingle(field)) this.of(origin.accountId, origin.keys, origin.hour)
    }
    for (const [field, lease] of this.leases) {
      lease.voidFree(used.get(field)?.parts ?? NO_PARTS)
      if (!used.has(field)) this.leases.delete(field)
    }
  }
}

/** The sum of the used amounts of each lease. */
export function usedParts(open: Iterable<OpenHold>, endings: readonly LeasedEnding[]): UsedParts {
  const sums = new Map<string, LeasedParts & { readonly parts: PartsSum }>()
  const add = (lease: LeaseIdentity, parts: Parts): void => {
    const known = sums.get(lease.field) ?? { origin: lease, field: lease.field, parts: new PartsSum() }
    sums.set(lease.field, known)
    known.parts.add(parts)
  }
  for (const { lease, held } of open) add(lease.name, held.parts)
  for (const { lease, charged } of endings) add(lease, charged)
  for (const [field, { parts }] of sums) if (isNothing(parts)) sums.delete(field)
  return sums
}
