import type { EndingWaiter } from '../ending.ts'
import type { HoldWaiter } from '../holds.ts'
import { ForwardedHold } from './forwardedHold.ts'
import { keysOf } from './lease.ts'
import { SingleHold } from './singleHold.ts'

/** A request that waits for a hold which Redis keeps by itself; the hold is recorded before the waiter is called back. */
export class SingleTaking extends ForwardedHold {
  private readonly note: (hold: SingleHold, split: string, units: number, heldAtMs: number) => void

  constructor(waiter: HoldWaiter, note: (hold: SingleHold, split: string, units: number, heldAtMs: number) => void) {
    super(waiter)
    this.note = note
  }

  onHeld(heldUnits: number, heldAtMs: number, split = `coin=${heldUnits}`): void {
    const { requestId } = this
    const { shard, accountId, keyId } = this.principal
    const hold = new SingleHold({ requestId, shard, accountId, keyId, keys: keysOf(this.principal), heldAtMs })
    this.note(hold, split, heldUnits, heldAtMs)
    this.waiter.onHeld(heldUnits, heldAtMs)
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
