import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { EndingWaiter } from '../ending.ts'
import type { Held } from '../held.ts'
import type { HoldWaiter } from '../holds.ts'
import { keysOf } from './leaseName.ts'
import { SingleHold } from './singleHold.ts'

/** A request that waits for a hold which Redis keeps by itself; the hold is recorded before the waiter is called back. */
export class SingleTaking implements HoldWaiter {
  readonly requestId: string
  readonly principal: Principal
  readonly wantUnits: number
  readonly leastUnits: number
  readonly holdMeta: string
  readonly coinUsdUnits: number
  private readonly waiter: HoldWaiter
  private readonly note: (single: SingleHold, held: Held) => void

  constructor(waiter: HoldWaiter, note: (single: SingleHold, held: Held) => void) {
    this.requestId = waiter.requestId
    this.principal = waiter.principal
    this.wantUnits = waiter.wantUnits
    this.leastUnits = waiter.leastUnits
    this.holdMeta = waiter.holdMeta
    this.coinUsdUnits = waiter.coinUsdUnits
    this.waiter = waiter
    this.note = note
  }

  onHeld(held: Held): void {
    const { requestId } = this
    const { shard, accountId, keyId } = this.principal
    const { heldAtMs } = held
    const single = new SingleHold({ requestId, shard, accountId, keyId, keys: keysOf(this.principal), heldAtMs })
    this.note(single, held)
    this.waiter.onHeld(held)
  }

  onHoldRefused(error: GatewayError): void {
    this.waiter.onHoldRefused(error)
  }

  onCrashed(error: unknown): void {
    this.waiter.onCrashed(error)
  }
}

/** Hides the charge from a waiter, because control may have given the request up by now. */
export function withoutCharge(waiter: EndingWaiter): EndingWaiter {
  return {
    onSettled: () => waiter.onSettleDelayed(),
    onSettleDelayed: () => waiter.onSettleDelayed(),
    onCrashed: (error) => waiter.onCrashed(error),
  }
}
