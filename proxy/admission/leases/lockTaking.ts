import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { HoldWaiter, LockWant } from '../holds.ts'
import { ForwardedHold } from './forwardedHold.ts'
import type { Lease } from './lease.ts'
import { type GrantPart, NO_PARTS, type Parts } from './parts.ts'

/**
 * A request for which tokens of a lock are set aside, while it waits for the rest of its hold. They are free again when
 * the rest is refused.
 */
export class LockTaking extends ForwardedHold {
  private readonly lease: Lease
  private readonly generation: number
  private readonly part: GrantPart
  /** The tokens are reserved: neither held nor given back yet. */
  private isSetAside = true

  /** @param units above zero, in whole micro-tokens, free on the lease */
  constructor(waiter: HoldWaiter, want: LockWant, lease: Lease, units: number) {
    super(waiter, want.rest(units))
    this.lease = lease
    this.generation = lease.locks.generation
    this.part = lease.locks.take(want.seriesId, units)
  }

  /** Tokens that are set aside, in units at the locked price. */
  get lockUnits(): number {
    return this.part.units
  }

  /** Whether the rest can be held on this lease together with the tokens. */
  isOn(lease: Lease): boolean {
    return lease === this.lease && lease.locks.generation === this.generation
  }

  /** The whole hold: the tokens, which are spent first, and the rest of credits and coin. */
  holdWith(rest: Parts): Parts {
    this.isSetAside = false
    return { ...rest, grants: [this.part, ...rest.grants] }
  }

  /** Frees the tokens, unless they are held, or Redis has them again since they were set aside. */
  giveBack(): void {
    if (!this.isSetAside) return
    this.isSetAside = false
    if (this.lease.locks.generation === this.generation)
      this.lease.release({ ...NO_PARTS, grants: [this.part] }, NO_PARTS)
  }

  onHeld(heldUnits: number, heldAtMs: number): void {
    this.waiter.onHeld(heldUnits, heldAtMs, undefined, this.part.units)
  }

  override onHoldRefused(error: GatewayError): void {
    this.giveBack()
    super.onHoldRefused(error)
  }
}
