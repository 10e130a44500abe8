import type { ErrorCode, GatewayError } from '../../../contract/errors/errors.ts'
import type { Bill } from './bill.ts'
import type { Outcome } from './outcome.ts'

/** An operation, as the listener of its run. */
export interface RunListener {
  /**
   * The hold is granted: the operation starts its work. Phase `calling`.
   * @param lockUnits the part of the hold that is tokens of a lock, at the locked price
   */
  serve(heldUnits: number, lockUnits: number): void
  /** The client disconnected while the request was served; absent when the request continues all the same. */
  onGone?(): void
  /** The process shuts down, in any phase but `done`; absent when the request ends soon anyway. */
  onCut?(): void
  /** The outcome is in the ledger: the client gets the rest of its answer. The run is done when that has resolved. */
  onSettled?(outcome: Outcome, chargedUnits: number): void | Promise<void>
  /**
   * The ledger takes long, or has given the request up: the client gets the rest of its answer without a receipt. The
   * run is done when that has resolved.
   */
  onSettleDelayed?(outcome: Outcome): void | Promise<void>
  /** The run is done; called once. The operation releases its memory. */
  onDone?(): void
  /** The bill of the output so far, when an internal error ends an answer that has begun; absent charges nothing. */
  billOfPart?(): Bill
  /**
   * The events that report a fault to the client of an answer that has begun, and end it; when absent, the answer is broken
   * off.
   */
  faultEvents?(fault: GatewayError): string
  /** The code that the client gets for an internal error; absent is internal_error. */
  readonly crashCode?: ErrorCode
}
