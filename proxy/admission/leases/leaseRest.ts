import type { AdmissionLimits } from '../limits.ts'
import type { Lease } from './lease.ts'
import type { RestAsk } from './leaseCall.ts'
import type { RatePermits } from './ratePermits.ts'

type RestLimits = Pick<AdmissionLimits, 'leaseRestMs' | 'leaseRestHolds' | 'leaseRestPermits'>

/** Whether the lease of a key stays while nobody uses it, and with how much. */
export class LeaseRest {
  private units = 0
  private readonly limits: RestLimits

  constructor(limits: RestLimits) {
    this.limits = limits
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

  /** @param usedAtMs when the key was used last */
  mayStay(lease: Lease, usedAtMs: number, nowMs: number): boolean {
    const { leaseRestMs } = this.limits
    return this.units > 0 && nowMs - usedAtMs < leaseRestMs && lease.lastsUntil(nowMs + leaseRestMs)
  }

  /** Gives up the units that the lease may not rest with. */
  trim(lease: Lease, nowMs: number, coinUsdUnits: number): void {
    if (lease.free(nowMs, coinUsdUnits) > this.units) lease.giveUp(this.units, nowMs, coinUsdUnits)
  }
}
