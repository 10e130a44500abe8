import { GatewayError } from '../../../contract/errors/errors.ts'
import { assertMoney } from '../../../contract/money/moneyFault.ts'
import type { EndingWaiter } from '../ending.ts'
import { flatText } from '../flatText.ts'
import type { Held } from '../held.ts'
import type { HoldWaiter } from '../holds.ts'
import type { JournalListener } from '../journal/listener.ts'
import type { Segment } from '../journal/segment.ts'
import { chargeParts, NO_PARTS, type Parts, splitText } from '../parts.ts'
import type { LeasedEnding } from './batch.ts'
import type { HeldFrom } from './lease.ts'

const RULE = 'charge_within_hold'

/** A request that holds units; when they are from a lease, its waiter is called back once the opening is in the journal. */
export class OpenHold implements JournalListener {
  readonly waiter: HoldWaiter
  readonly lease: HeldFrom
  readonly held: Held
  /** Of the journal, where its opening is; a single hold has none. */
  segment: Segment | undefined
  /** Its opening is in the journal; never for a single hold. */
  isWritten = false
  private readonly onRefused: (hold: OpenHold) => void

  /** @param onRefused called when the opening could not be written, before the waiter is called back */
  constructor(waiter: HoldWaiter, lease: HeldFrom, held: Held, onRefused: (hold: OpenHold) => void) {
    this.waiter = waiter
    this.lease = lease
    this.held = held
    this.onRefused = onRefused
  }

  /**
   * Ends it: the uncharged part is free on its lease again.
   * @param seq of the ending, by owner and shard
   * @param chargeUnits a part of the hold, or below zero for nothing
   * @param settlement a Settlement message, one character a byte
   * @throws MoneyFault where the hold cannot pay the charge; it is still open then
   */
  end(seq: number, chargeUnits: number, settlement: string): LeasedEnding {
    const { parts, heldAtMs } = this.held
    const charged = chargeUnits > 0 ? this.partsOf(chargeUnits) : NO_PARTS
    this.lease.release(parts, charged)
    return {
      lease: this.lease.name,
      requestId: this.waiter.requestId,
      seq,
      voided: chargeUnits < 0,
      heldAtMs,
      charged,
      split: splitText(charged),
      settlement: flatText(settlement),
    }
  }

  private partsOf(chargeUnits: number): Parts {
    const { requestId, coinUsdUnits } = this.waiter
    const { parts, units } = this.held
    assertMoney(chargeUnits <= units, RULE, requestId, chargeUnits, units)
    const charged = chargeParts(parts, chargeUnits, coinUsdUnits)
    assertMoney(charged.coinUnits <= parts.coinUnits, RULE, requestId, charged.coinUnits, parts.coinUnits)
    assertMoney(charged.coinNanos <= parts.coinNanos, RULE, requestId, charged.coinNanos, parts.coinNanos)
    return charged
  }

  onWritten(): void {
    this.isWritten = true
    this.waiter.onHeld(this.held)
  }

  onUnwritten(cause: unknown): void {
    this.onRefused(this)
    this.waiter.onHoldRefused(new GatewayError('admission_unavailable', { retryAfterSeconds: 1, cause }))
  }

  onCrashed(error: unknown): void {
    this.waiter.onCrashed(error)
  }
}

/** A request that has ended; its waiter is called back once the ending is in the journal. */
export class EndedHold implements JournalListener {
  readonly ending: LeasedEnding
  readonly chargedUnits: number
  private readonly waiter: EndingWaiter | null
  private readonly onLeft: (ended: EndedHold) => void

  /** @param onLeft called when the ending could not be written: the waiter is called back once Redis has it */
  constructor(
    ending: LeasedEnding,
    chargedUnits: number,
    waiter: EndingWaiter | null,
    onLeft: (ended: EndedHold) => void,
  ) {
    this.ending = ending
    this.chargedUnits = chargedUnits
    this.waiter = waiter
    this.onLeft = onLeft
  }

  onWritten(): void {
    this.waiter?.onSettled(this.chargedUnits)
  }

  onUnwritten(): void {
    if (this.waiter !== null) this.onLeft(this)
  }

  onDelayed(): void {
    this.waiter?.onSettleDelayed()
  }

  onCrashed(error: unknown): void {
    this.waiter?.onCrashed(error)
  }
}

/** The listener for an opening that is written again: its waiter was called back the first time. */
export const NOBODY: JournalListener = { onWritten() {}, onUnwritten() {}, onCrashed() {} }
