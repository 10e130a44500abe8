import { leaseText } from '../journal/records.ts'
import { type GrantPart, NO_GRANTS, type Parts } from './parts.ts'

const HOUR_MS = 3_600_000

/** Units of a grant that are free to hold. */
interface FreeGrant {
  readonly grantId: string
  readonly expiresAtMs: number
  units: number
}

export interface LeaseOrigin {
  readonly shard: number
  readonly accountId: string
  /** `keyId`, or `keyId/platformKeyId` of a sub-key. */
  readonly keys: string
  /** That its units are counted in, since 1970 on Redis's clock. */
  readonly hour: number
}

/** A lease by its name. */
export interface LeaseIdentity extends LeaseOrigin {
  /** Of the hash of leases in Redis. */
  readonly field: string
  readonly keyId: string
}

/** The key that a lease is of, without its platform key. */
export function keyIdOf({ keys }: Pick<LeaseOrigin, 'keys'>): string {
  const end = keys.indexOf('/')
  return end < 0 ? keys : keys.slice(0, end)
}

/** The name of a lease in Redis. */
export function leaseField(keys: string, hour: number): string {
  return `L:${keyIdOf({ keys })}:${hour}`
}

/** The hour in the name of a lease. */
export function hourOf(field: string): number {
  return Number(field.slice(field.lastIndexOf(':') + 1))
}

/** What a request's hold is a part of. */
export interface HeldFrom {
  readonly name: LeaseIdentity
  /** What its records in the journal begin with. */
  readonly text: string
  /** Takes back what of a hold was not charged. @param charged a part of `held` */
  release(held: Parts, charged: Parts): void
}

/** Units of one key that this process may hold in one hour, without asking anybody. All of it is arithmetic. */
export class Lease implements HeldFrom {
  readonly name: LeaseIdentity
  readonly field: string
  readonly text: string
  /** From then on nothing may be held on it, on Redis's clock. */
  readonly endMs: number
  /** What Redis has out for it, as far as its answers tell: free, held, given up, and charged but not delivered. */
  outUnits = 0
  private freeCoin = 0
  private freeGrants: FreeGrant[] = []
  /** No longer used here, and not yet given back to Redis. */
  private givenUpCoin = 0
  private readonly givenUpGrants = new Map<string, number>()

  constructor(origin: LeaseOrigin) {
    this.field = leaseField(origin.keys, origin.hour)
    this.name = { ...origin, field: this.field, keyId: keyIdOf(origin) }
    this.text = leaseText({ ...origin, field: this.field })
    this.endMs = (origin.hour + 1) * HOUR_MS
  }

  /** Adds what Redis has leased. @param grants in the order that they are to be spent */
  add(coinUnits: number, grants: readonly FreeGrant[]): void {
    this.freeCoin += coinUnits
    this.outUnits += coinUnits
    for (const { grantId, expiresAtMs, units } of grants) {
      this.outUnits += units
      const known = this.freeGrants.find((grant) => grant.grantId === grantId)
      if (known === undefined) this.freeGrants.push({ grantId, expiresAtMs, units })
      else known.units += units
    }
    if (grants.length > 0) this.freeGrants.sort((a, b) => a.expiresAtMs - b.expiresAtMs)
  }

  /** Units that may be held now. */
  free(nowMs: number): number {
    let units = this.freeCoin
    for (const grant of this.freeGrants) if (grant.expiresAtMs > nowMs) units += grant.units
    return units
  }

  /** Holds units, at most what is free: grants first. */
  hold(units: number, nowMs: number): Parts {
    if (this.freeGrants.length === 0) {
      this.freeCoin -= units
      return { coinUnits: units, grants: NO_GRANTS }
    }
    let left = units
    const grants: GrantPart[] = []
    for (const grant of this.freeGrants) {
      const part = grant.expiresAtMs > nowMs ? Math.min(left, grant.units) : 0
      if (part === 0) continue
      grant.units -= part
      left -= part
      grants.push({ grantId: grant.grantId, units: part })
    }
    this.freeCoin -= left
    return { coinUnits: left, grants }
  }

  /** Frees what of a hold was not charged. @param charged a part of `held` */
  release(held: Parts, charged: Parts): void {
    this.freeCoin += held.coinUnits - charged.coinUnits
    for (const { grantId, units } of held.grants) {
      const spent = charged.grants.find((part) => part.grantId === grantId)?.units ?? 0
      const known = this.freeGrants.find((grant) => grant.grantId === grantId)
      if (known !== undefined) known.units += units - spent
      else if (units > spent) this.giveUpGrant(grantId, units - spent)
    }
  }

  /** Gives up what is free beyond `keepUnits`: coin first, as it is the last to be spent. */
  giveUp(keepUnits: number, nowMs: number): void {
    let excess = this.free(nowMs) - keepUnits
    const coin = Math.max(0, Math.min(excess, this.freeCoin))
    this.freeCoin -= coin
    this.givenUpCoin += coin
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

  /** Whether there is something to give back. */
  get hasGivenUp(): boolean {
    return this.givenUpCoin > 0 || this.givenUpGrants.size > 0
  }

  /** What was given up, for the call that gives it back; from here on it is Redis's. */
  takeGivenUp(): Parts {
    const grants = [...this.givenUpGrants].map(([grantId, units]) => ({ grantId, units }))
    const parts = { coinUnits: this.givenUpCoin, grants }
    this.givenUpCoin = 0
    this.givenUpGrants.clear()
    return parts
  }

  /** What was to be given back is still here. */
  giveUpAgain({ coinUnits, grants }: Parts): void {
    this.givenUpCoin += coinUnits
    for (const { grantId, units } of grants) this.giveUpGrant(grantId, units)
  }

  /**
   * After calls whose answers were lost: whatever Redis has out beyond what is accounted for is given up.
   * @param out what Redis has out
   * @param used what is held or charged and not delivered
   */
  reconcile(out: Parts, used: Parts): void {
    this.outUnits = out.coinUnits + out.grants.reduce((sum, { units }) => sum + units, 0)
    this.freeCoin = 0
    this.freeGrants = []
    this.givenUpGrants.clear()
    this.givenUpCoin = Math.max(0, out.coinUnits - used.coinUnits)
    for (const { grantId, units } of out.grants) {
      const usedUnits = used.grants.find((part) => part.grantId === grantId)?.units ?? 0
      this.giveUpGrant(grantId, Math.max(0, units - usedUnits))
    }
  }

  /** Redis has lost it: what is free here is void. @param used what is held or charged and not delivered */
  voidFree(used: Parts): void {
    this.reconcile(used, used)
  }

  private giveUpGrant(grantId: string, units: number): void {
    if (units > 0) this.givenUpGrants.set(grantId, (this.givenUpGrants.get(grantId) ?? 0) + units)
  }
}
