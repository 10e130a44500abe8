import type { EndingWaiter, Settlements } from './ending.ts'
import { heldMoney } from './held.ts'
import type { Holding, HoldWaiter } from './holds.ts'
import { type Crashable, notifyWaiter } from './notifyWaiter.ts'

/** Calls back, in a later turn of the event loop, all waiters that were added in this one. */
class NextTurn<Waiter extends Crashable> {
  private readonly call: (waiter: Waiter) => void
  private readonly onFault: (error: unknown) => void
  private waiting: Waiter[] = []
  private readonly flush = () => {
    const waiting = this.waiting
    this.waiting = []
    for (const waiter of waiting) notifyWaiter(waiter, this.call, this.onFault)
  }

  constructor(call: (waiter: Waiter) => void, onFault: (error: unknown) => void) {
    this.call = call
    this.onFault = onFault
  }

  add(waiter: Waiter): void {
    this.waiting.push(waiter)
    if (this.waiting.length === 1) setImmediate(this.flush)
  }
}

/**
 * Grants every hold in full without asking Redis. Only for measuring the cost of the money path: requests run unpaid. It
 * replaces `Holds` as a whole, so that the metered path needs no branch for it.
 */
export class UnmeteredHolds implements Holding {
  private readonly granted: NextTurn<HoldWaiter>

  constructor(onFault: (error: unknown) => void) {
    this.granted = new NextTurn((waiter) => waiter.onHeld(heldMoney(waiter.wantUnits, Date.now())), onFault)
  }

  take(waiter: HoldWaiter): void {
    this.granted.add(waiter)
  }
}

/** Drops every ending: nothing is charged, and answers go out without a receipt. */
export class UnmeteredSettlements implements Settlements {
  readonly endsInTurn = true
  private readonly dropped: NextTurn<EndingWaiter>

  constructor(onFault: (error: unknown) => void) {
    this.dropped = new NextTurn((waiter) => waiter.onSettleDelayed(), onFault)
  }

  end(_ending: unknown, _keys: unknown, waiter: EndingWaiter | null): void {
    if (waiter !== null) this.dropped.add(waiter)
  }
}
