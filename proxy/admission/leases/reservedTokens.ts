import type { GrantPart } from '../../../contract/wire/grantParts.ts'
import type { LockWant } from '../holds.ts'
import { NO_PARTS, type Parts } from '../parts.ts'
import type { Lease } from './lease.ts'

/** Tokens of a lock that are set aside for a request while it waits for the rest of its hold. */
export class ReservedTokens {
  /** The rest to hold on credits and coin. */
  readonly wantUnits: number
  readonly leastUnits: number
  private readonly lease: Lease
  private readonly generation: number
  private readonly part: GrantPart
  /** They are neither held nor given back yet. */
  private isReserved = true

  /** @param units above zero, in whole micro-tokens, free on the lease */
  constructor(want: LockWant, lease: Lease, units: number) {
    const rest = want.rest(units)
    this.wantUnits = rest.wantUnits
    this.leastUnits = rest.leastUnits
    this.lease = lease
    this.generation = lease.locks.generation
    this.part = lease.locks.take(want.seriesId, units)
  }

  /** In units at the locked price. */
  get units(): number {
    return this.part.units
  }

  /** Whether the rest can be held on this lease together with the tokens. */
  isOn(lease: Lease): boolean {
    return lease === this.lease && lease.locks.generation === this.generation
  }

  /** The whole hold: the tokens, which are spent first, and the rest of credits and coin. */
  holdWith(rest: Parts): Parts {
    this.isReserved = false
    return { ...rest, grants: [this.part, ...rest.grants] }
  }

  /** Frees the tokens, unless they are held, or Redis has them again since they were set aside. */
  giveBack(): void {
    if (!this.isReserved) return
    this.isReserved = false
    if (this.lease.locks.generation === this.generation)
      this.lease.release({ ...NO_PARTS, grants: [this.part] }, NO_PARTS)
  }
}
