import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { PricedItem } from '../../catalog/pricedItem.ts'
import { MeteredRun } from './meteredRun.ts'

/**
 * A request that may go on without its client, because its provider bills for it all the same. What is here of going
 * and cutting is for answers in one piece; those that are sent as they come have their own.
 */
export abstract class DetachableRun<Item extends PricedItem = Model> extends MeteredRun<Item> {
  /** The client has gone, and the answer is awaited all the same. */
  protected detached = false

  // Providers bill an answer in one piece whether or not anybody waits for it, so it is read to its end.
  onGone(): void {
    // Before the hold is answered there is nothing to end yet; its answer finds the client gone.
    if (this.ending || this.attempts === undefined || this.detach()) return
    this.attempts.cancel()
    this.settle('partial', this.billOfPart(), 'client_gone')
  }

  cut(): void {
    if (this.ending) return
    const fault = new GatewayError('gateway_restarting')
    this.cutOff(fault.code)
    this.failWith(fault)
  }

  /** Goes on without a client, over the attempt that is under way, if there is room. @returns whether it does */
  protected detach(): boolean {
    const { counters } = this.services.metrics
    if (counters.detached >= this.services.limits.detachedRequestsMax) return false
    counters.detached++
    this.detached = true
    this.attempts?.makeLast()
    return true
  }

  protected override close(): void {
    if (this.detached) this.services.metrics.counters.detached--
    this.detached = false
    super.close()
  }
}
