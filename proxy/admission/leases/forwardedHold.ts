import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { HoldWaiter } from '../holds.ts'

/** Waits for a hold, or for the rest of one, in place of a request, which is called back in turn. */
export abstract class ForwardedHold implements HoldWaiter {
  readonly requestId: string
  readonly principal: Principal
  readonly wantUnits: number
  readonly leastUnits: number
  readonly holdMeta: string
  readonly coinUsdUnits: number
  /** The request that waits for the whole hold. */
  readonly waiter: HoldWaiter

  /** @param want the units to hold here, those of the request where nothing else holds a part of them */
  constructor(waiter: HoldWaiter, want: { readonly wantUnits: number; readonly leastUnits: number } = waiter) {
    this.requestId = waiter.requestId
    this.principal = waiter.principal
    this.wantUnits = want.wantUnits
    this.leastUnits = want.leastUnits
    this.holdMeta = waiter.holdMeta
    this.coinUsdUnits = waiter.coinUsdUnits
    this.waiter = waiter
  }

  abstract onHeld(heldUnits: number, heldAtMs: number, split?: string): void

  onHoldRefused(error: GatewayError): void {
    this.waiter.onHoldRefused(error)
  }

  onCrashed(error: unknown): void {
    this.waiter.onCrashed(error)
  }
}
