import type { AdmissionLimits } from '../limits.ts'
import type { Lease } from './lease.ts'
import type { RestAsk } from './leaseCall.ts'
import type { RatePermits } from './ratePermits.ts'

type RestLimits = Pick<AdmissionLimits, 'leaseIdleMs' | 'leaseRestMs' | 'leaseRestHolds' | 'leaseRestPermits'>

/** When a key was used, whether its lease stays while nobody uses it, and with how much. */
export class LeaseRest {
  private units = 0
  private usedAtMs = 0
  private quietUntilMs = 0
  private readonly limits: RestLimits

  constructor(limits: RestLimits) {
    this.limits = limits
  }

  /** The key has held for a request. */
  used(nowMs: number): void {
    this.usedAtMs = nowMs
    this.quietUntilMs = 0
  }

  /** Whether the key was not used for a while. */
  isIdle(nowMs: number): boolean {
    return nowMs - this.usedAtMs >= this.limits.leaseIdleMs
  }

  /** Another review may find something to give up. */
  changed(): void {
    this.quietUntilMs = 0
  }

  /** @param isQuiet the lease has nothing that it could give up before the key is idle */
  reviewed(lease: Lease, isQuiet: boolean): void {
    this.quietUntilMs = isQuiet ? Math.min(this.usedAtMs + this.limits.leaseIdleMs, lease.endMs) : 0
  }

  /** Whether a review would change nothing. */
  isQuiet(nowMs: number): boolean {
    return nowMs < this.quietUntilMs
  }

  /** Whether a request on the lease may use a permit of its rate that is taken only with its delivery. */
  mayOwe(permits: RatePermits): boolean {
    return this.units > 0 && permits.mayOwe(this.limits.leaseRestPermits)
  }

  /** @param units that it may rest with */
  allow(units: number): void {
    this.units = units
  }

  end(): void {
    this.units = 0
  }

  /** A few holds of the size of one that waits. @param freeUnits that the lease has */
  ask(holdUnits: number, freeUnits: number): RestAsk | undefined {
    if (holdUnits === 0) return undefined
    return { mostUnits: holdUnits * (this.limits.leaseRestHolds - 1), leastUnits: holdUnits, freeUnits }
  }

  mayStay(lease: Lease, nowMs: number): boolean {
    const { leaseRestMs } = this.limits
    return this.units > 0 && nowMs - this.usedAtMs < leaseRestMs && lease.lastsUntil(nowMs + leaseRestMs)
  }

  /** Gives up the units that the lease may not rest with. */
  trim(lease: Lease, nowMs: number, coinUsdUnits: number): void {
    if (lease.free(nowMs, coinUsdUnits) > this.units) lease.giveUp(this.units, nowMs, coinUsdUnits)
  }
}
