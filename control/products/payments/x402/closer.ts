import type { Logger } from 'pino'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../../contract/wire/redis.ts'
import { settleLost } from '../../../admission/settleLost.ts'
import { eachApart } from '../../../chain/eachApart.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import { redisNowMs } from '../../../runtime/redisClock.ts'
import type { PaymentsLimits } from '../limits.ts'
import { type CloseOptions, closeEnded } from './closePayments.ts'
import { isHeld } from './payHold.ts'
import { markHeld, type PaymentRow, unmovedPayments, unservedPayments } from './paymentRow.ts'

export interface CloserOptions extends CloseOptions {
  readonly redis: Redis
  readonly log: Logger
  /** Finds out whether another sender submitted a payment that the gateway could not send; else it has failed. */
  readonly resolveUnmoved: (payment: PaymentRow) => Promise<void>
  /** Called when payments were closed and a refund is due. */
  readonly onClosed: () => void
  readonly limits: PaymentsLimits
}

/**
 * Makes sure that every settled payment ends in exactly one receipt, and computes its refund. Requests that no process serves
 * any more, because their proxy or control crashed in between, are given up.
 */
export class PaymentCloser {
  private readonly options: CloserOptions
  private readonly loop: Loop

  constructor(options: CloserOptions) {
    this.options = options
    this.loop = new Loop('payments', options.limits.paymentCloseMs, options.log, (signal) => this.pass(signal))
  }

  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const { pool, resolveUnmoved, limits } = this.options
    const open = await pool.query(`SELECT FROM payments WHERE state IN ('settling', 'paid') LIMIT 1`)
    if (open.rowCount === 0) return
    if ((await closeEnded(this.options)) > 0) this.options.onClosed()
    // One that cannot be decided, because the node does not say how it ended, keeps no other payer from its refund.
    const unmoved = await unmovedPayments(pool, limits.paymentCloseMax)
    const steps = [() => this.giveUpUnserved(signal), () => eachApart(unmoved, signal, resolveUnmoved)]
    await eachApart(steps, signal, (step) => step())
  }

  private async giveUpUnserved(signal: AbortSignal): Promise<void> {
    const { pool, redis, limits } = this.options
    const unserved = await unservedPayments(pool, limits.paymentCloseMax)
    if (unserved.length === 0) return
    const nowMs = await redisNowMs(redis)
    const overdue = unserved.filter(({ serveByMs }) => nowMs > serveByMs + limits.paymentMarginMs)
    await eachApart(overdue, signal, (payment) => this.giveUp(payment, nowMs))
  }

  /** Ends a request that can no longer be served, unless it is being served. */
  private async giveUp(payment: PaymentRow, nowMs: number): Promise<void> {
    const { pool, redis, log } = this.options
    if (await isHeld(redis, payment)) {
      if (!payment.held) await markHeld(pool, [payment.id])
      return
    }
    // Its hold is gone: either it was settled and waits for booking, or Redis lost the hold; in that case its proxy delivers
    // the ending later.
    const serveMaxMs = Math.max(this.options.limits.totalTimeoutMs, this.options.limits.videoJobMaxMs)
    if (payment.held && nowMs < payment.serveByMs + serveMaxMs + this.options.limits.lostHoldWatchMs) return
    await settleLost(redis, pool, settlementOf(payment, nowMs), this.options.limits)
    logEvent(log, 'payment_refunded', { payment: payment.id, payer: payment.payer })
  }
}

function settlementOf(payment: PaymentRow, nowMs: number): Uint8Array {
  return sluice.Settlement.encode({
    requestId: payment.id,
    accountId: payment.accountId,
    keyId: payment.accountId,
    model: payment.model,
    endpoint: payment.endpoint,
    sheetVersion: payment.sheetVersion,
    streamed: payment.streamed,
    status: sluice.Status.FAILED,
    errorCode: 'settlement_unconfirmed',
    holdUnits: payment.holdUnits,
    startedAtMs: Math.min(payment.serveByMs, nowMs),
  }).finish()
}
