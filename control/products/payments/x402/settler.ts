import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { OTHER_SUFFIX } from '../../../chain/chainLoss.ts'
import { type StoredTransaction, storeForeign } from '../../../chain/outbox.ts'
import type { TransactionState } from '../../../chain/transactionRow.ts'
import type { TransactionWatcher } from '../../../chain/watcher.ts'
import { withTransaction } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import type { PaymentsLimits } from '../limits.ts'
import { claimPayment, refuseConflict, type Sending } from './claim.ts'
import { findForeignSettlement, nonceOf } from './foreignSettlement.ts'
import type { PayerTransaction } from './payerTransaction.ts'
import { takePaidHold } from './payHold.ts'
import { kindOf, type PaymentKind, type PaymentOrder } from './paymentOrder.ts'
import { markHeld, type PaymentRow, paymentOf } from './paymentRow.ts'
import { Places } from './places.ts'
import { Preparation, type PreparationParts } from './preparation.ts'
import { RefusalBudget } from './refusalBudget.ts'
import { refuseRecentlyRefused } from './refusals.ts'
import { refuseUncovered } from './uncovered.ts'

const HOLD_RETRY_MS = 20
/** The errors that may be answered after the claim: the payment was refused, or its outcome is known. */
const FINAL: ReadonlySet<string> = new Set([
  'payment_in_flight',
  'authorization_used',
  'payment_already_resolved',
  'settlement_failed',
  'settlement_unconfirmed',
])

/** A request that is paid and held; it has to be served now. */
export interface Settled {
  readonly transaction: `0x${string}`
  readonly heldAtMs: number
}

export interface SettlerOptions extends PreparationParts {
  readonly watcher: TransactionWatcher
  readonly log: Logger
  readonly limits: PaymentsLimits
}

/** Settles payments: unpaid requests are not served, and paid requests that are not served are refunded. */
export class PaymentSettler {
  private readonly options: SettlerOptions
  private readonly preparation: Preparation
  private readonly budget: RefusalBudget
  /** Payers with a running payment, whose signature is verified. */
  private readonly payers = new Set<Address>()
  /** Bounds the checks on the chain that run before anything is stored. */
  private readonly checks: Readonly<Record<PaymentKind, Places>>
  private readonly signed: Places
  private readonly transactions: Places

  constructor(options: SettlerOptions) {
    this.options = options
    this.preparation = new Preparation(options)
    this.budget = new RefusalBudget(options.limits)
    this.checks = {
      authorization: new Places(options.limits.paymentChecksMax),
      contract: new Places(options.limits.contractChecksMax),
      transaction: new Places(options.limits.payerTransactionChecksMax),
    }
    this.signed = new Places(options.limits.paymentsInFlightMax)
    this.transactions = new Places(options.limits.payerTransactionsInFlightMax)
  }

  /** Payments under way. */
  get size(): number {
    const checked = Object.values(this.checks).reduce((sum, { taken }) => sum + taken, 0)
    return Math.max(this.payers.size, checked)
  }

  /**
   * Makes a payment and takes the hold of its request.
   * @param waitMs how long its request waits; a payment that is decided later is refunded
   * @throws GatewayError with one of the codes for payments; nothing was taken then, except for settlement_unconfirmed
   */
  async settle(order: PaymentOrder, waitMs: number): Promise<Settled> {
    const deadlineMs = performance.now() + waitMs
    const { redis } = this.options
    this.budget.check(order)
    await refuseRecentlyRefused(redis, order.transfer.token, order.payer)
    const isProven = kindOf(order) === 'authorization'
    const own = isProven ? undefined : await this.ask(order, () => this.preparation.prove(order))
    // The database would reject it too, but only after a useless call to the chain for each of many duplicates.
    if (this.payers.has(order.payer)) throw new GatewayError('payment_in_flight', { retryAfterSeconds: 2 })
    this.payers.add(order.payer)
    try {
      return await this.settleOnce(order, own, deadlineMs)
    } finally {
      this.payers.delete(order.payer)
    }
  }

  private async settleOnce(
    order: PaymentOrder,
    own: PayerTransaction | undefined,
    deadlineMs: number,
  ): Promise<Settled> {
    await refuseConflict(this.options.pool, order)
    await refuseUncovered(this.options.pool, order.payer, this.options.limits)
    const sending = await this.ask(order, () => this.preparation.prepare(order, own))
    const places = own === undefined ? this.signed : this.transactions
    return places.run(() => this.make(order, sending, deadlineMs))
  }

  /** Asks the chain about a payment. A refused payment counts against its sender. */
  private async ask<T>(order: PaymentOrder, work: () => Promise<T>): Promise<T> {
    return this.checks[kindOf(order)].run(async () => {
      try {
        return await work()
      } catch (error) {
        if (error instanceof GatewayError && error.status < 500) this.budget.noteRefused(order)
        throw error
      }
    })
  }

  private async make(order: PaymentOrder, sending: Sending, deadlineMs: number): Promise<Settled> {
    try {
      const transaction = await claimPayment(this.options.pool, order, sending)
      const settled = await this.finish(order, transaction, sending, deadlineMs)
      this.budget.notePaid(order)
      return settled
    } catch (error) {
      if (error instanceof GatewayError && error.row === 'settlement_failed') this.budget.noteRefused(order)
      if (error instanceof GatewayError && FINAL.has(error.row)) throw error
      // After the claim the transfer may be made in spite of a failure here; it is refunded then.
      logEvent(this.options.log, 'payment_deferred', { payment: order.requestId, err: error })
      throw new GatewayError('settlement_unconfirmed')
    }
  }

  private async finish(
    order: PaymentOrder,
    transaction: StoredTransaction,
    sending: Sending,
    deadlineMs: number,
  ): Promise<Settled> {
    const state = await this.send(transaction, sending, deadlineMs - performance.now())
    if (state === 'reverted' || state === 'displaced') {
      const payment = await paymentOf(this.options.pool, order.requestId)
      if (payment !== undefined) await this.resolveUnmoved(payment, deadlineMs)
    }
    return this.hold(order.requestId, deadlineMs)
  }

  private send(transaction: StoredTransaction, sending: Sending, waitMs: number): Promise<TransactionState> {
    const { watcher } = this.options
    if (sending.by === 'gateway') return watcher.send(transaction, waitMs)
    return sending.raw === undefined ? watcher.wait(transaction.id, waitMs) : watcher.sendForeign(transaction, waitMs)
  }

  /**
   * Decides a payment whose own transaction made no transfer: if another sender submitted it first, it is paid all the same;
   * else it has failed.
   * @param deadlineMs until when to wait for that other transaction
   * @throws GatewayError chain_unavailable
   */
  async resolveUnmoved(payment: PaymentRow, deadlineMs = performance.now()): Promise<void> {
    const { pool, chain, watcher } = this.options
    const found = await pool.query<{
      transfer_from: Address
      transfer_to: Address
      block: number
      since: number | null
    }>(
      `SELECT transfer_from, transfer_to, coalesce(block_number, 0) AS block, nullif(since_block, 0) AS since FROM chain_transactions
       WHERE purpose = 'payment' AND ref = $1`,
      [payment.id],
    )
    const sides = found.rows[0]
    if (sides === undefined) return
    const { token, amount } = payment
    const transfer = { token, from: sides.transfer_from, to: sides.transfer_to, amount }
    const nonce = nonceOf(payment.replayKey)
    const foreign = await findForeignSettlement(
      pool,
      chain,
      { transfer, nonce, seenBlock: sides.block, sinceBlock: sides.since },
      this.options.limits,
    )
    if (foreign === undefined) {
      await pool.query(`UPDATE payments SET state = 'failed' WHERE id = $1 AND state = 'settling'`, [payment.id])
      return
    }
    const order = { purpose: 'payment', ref: `${payment.id}${OTHER_SUFFIX}`, transfer } as const
    const id = await withTransaction(pool, (client) => storeForeign(client, order, foreign))
    await watcher.wait(id, deadlineMs - performance.now())
  }

  /** Takes the hold of a payment that has arrived. */
  private async hold(id: string, deadlineMs: number): Promise<Settled> {
    const { pool, redis } = this.options
    for (;;) {
      const payment = await paymentOf(pool, id)
      if (payment === undefined || payment.state === 'failed') throw new GatewayError('settlement_failed')
      if (payment.state !== 'paid') throw new GatewayError('settlement_unconfirmed')
      const hold = await takePaidHold(redis, pool, payment, this.options.limits)
      if (typeof hold === 'object') {
        // Before the request can be served: if Redis loses the hold, the payment is given up after the longest time of a request.
        await markHeld(pool, [id])
        return { transaction: await this.hashOf(id), heldAtMs: hold.heldAtMs }
      }
      if (hold === 'late' || performance.now() > deadlineMs) throw new GatewayError('settlement_unconfirmed')
      await sleep(HOLD_RETRY_MS)
    }
  }

  private async hashOf(id: string): Promise<`0x${string}`> {
    const found = await this.options.pool.query<{ hash: `0x${string}` }>(
      `SELECT hash FROM chain_transactions
       WHERE purpose = 'payment' AND ref IN ($1, $1 || '${OTHER_SUFFIX}') AND state = 'mined'`,
      [id],
    )
    return found.rows[0]?.hash ?? '0x'
  }
}
