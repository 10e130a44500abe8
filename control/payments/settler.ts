import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { ChainClient } from '../chain/chainClient.ts'
import type { ContractWallets } from '../chain/contractSignature.ts'
import type { FeeOracle } from '../chain/fees.ts'
import { type StoredTransaction, storeForeign } from '../chain/outbox.ts'
import type { Signer } from '../chain/signer.ts'
import type { TransactionWatcher } from '../chain/watcher.ts'
import { GatewayError } from '../contract/errors.ts'
import { limits } from '../contract/limits.ts'
import type { Address } from '../contract/payments/address.ts'
import { type Pool, withTransaction } from '../db/pool.ts'
import { checkAgent } from './agents.ts'
import { OTHER_SUFFIX } from './chainLoss.ts'
import { claimPayment, refuseConflict, type Sending } from './claim.ts'
import { findForeignSettlement, nonceOf } from './foreignSettlement.ts'
import { checkSent, checkSigned } from './payerTransaction.ts'
import { takePaidHold } from './payHold.ts'
import type { PaymentOrder } from './paymentOrder.ts'
import { markHeld, type PaymentRow, paymentOf } from './paymentRow.ts'
import { refuseRecentlyRefused, rememberRefused } from './refusals.ts'
import { refusalError, simulatePayment } from './simulation.ts'

const HOLD_RETRY_MS = 20
/** What may be answered from the claim on: it was refused, or it is known how it went. */
const FINAL: ReadonlySet<string> = new Set([
  ...['payment_in_flight', 'authorization_used', 'payment_already_resolved'],
  ...['settlement_failed', 'settlement_unconfirmed'],
])

/** A request that is paid and held; it has to be served now. */
export interface Settled {
  readonly transaction: `0x${string}`
  readonly heldAtMs: number
}

export interface SettlerOptions {
  readonly pool: Pool
  readonly redis: Redis
  readonly chain: ChainClient
  readonly chainId: number
  readonly contracts: ContractWallets
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
  readonly relayers: readonly Signer[]
  /** Of the ERC-8004 agents that requests may name. */
  readonly agentRegistry: Address | null
  readonly log: Logger
}

/** Settles payments: nothing is served that is not paid, and what is paid and not served is refunded. */
export class PaymentSettler {
  readonly #options: SettlerOptions
  /** Whose payments are under way. */
  readonly #payers = new Set<Address>()
  #next = 0

  constructor(options: SettlerOptions) {
    this.#options = options
  }

  /** Payments under way. */
  get size(): number {
    return this.#payers.size
  }

  /**
   * Makes a payment and takes the hold of its request.
   * @param waitMs how long its request waits; what is decided later is refunded
   * @throws GatewayError with one of the codes for payments; nothing was taken then, except for settlement_unconfirmed
   */
  async settle(order: PaymentOrder, waitMs: number): Promise<Settled> {
    if (this.#payers.size >= limits.paymentsInFlightMax)
      throw new GatewayError('payments_busy', { retryAfterSeconds: 1 })
    // The database would say the same, after the chain was asked in vain for each of many duplicates.
    if (this.#payers.has(order.payer)) throw new GatewayError('payment_in_flight', { retryAfterSeconds: 2 })
    this.#payers.add(order.payer)
    try {
      return await this.#settle(order, performance.now() + waitMs)
    } finally {
      this.#payers.delete(order.payer)
    }
  }

  async #settle(order: PaymentOrder, deadlineMs: number): Promise<Settled> {
    const { pool, redis } = this.#options
    await refuseRecentlyRefused(redis, order.transfer.token, order.payer)
    await refuseConflict(pool, order)
    await Promise.all([this.#checkContract(order), this.#checkAgent(order)])
    const sending = await this.#prepare(order)
    try {
      const transaction = await claimPayment(pool, order, sending)
      return await this.#finish(order, transaction, sending, deadlineMs)
    } catch (error) {
      if (error instanceof GatewayError && FINAL.has(error.row)) throw error
      // From the claim on the transfer may be made, whatever failed here; it is refunded then.
      this.#options.log.warn({ payment: order.requestId, err: error }, 'a payment is left to be decided later')
      throw new GatewayError('settlement_unconfirmed')
    }
  }

  async #finish(
    order: PaymentOrder,
    transaction: StoredTransaction,
    sending: Sending,
    deadlineMs: number,
  ): Promise<Settled> {
    const state = await this.#send(transaction, sending, deadlineMs - performance.now())
    if (state === 'reverted' || state === 'displaced') {
      const payment = await paymentOf(this.#options.pool, order.requestId)
      if (payment !== undefined) await this.resolveUnmoved(payment, deadlineMs)
    }
    return this.#hold(order.requestId, deadlineMs)
  }

  #send(transaction: StoredTransaction, sending: Sending, waitMs: number) {
    const { watcher } = this.#options
    const isSent = sending.by === 'other' && sending.raw === undefined
    return isSent ? watcher.wait(transaction.id, waitMs) : watcher.send(transaction, waitMs)
  }

  /** @throws GatewayError payment_invalid when the contract that is to have signed says it did not */
  async #checkContract({ contractDigest, payment }: PaymentOrder): Promise<void> {
    if (contractDigest === undefined || payment === undefined) return
    const { contracts } = this.#options
    if (!(await contracts.hasSigned(payment.from, contractDigest, payment.signature))) {
      throw new GatewayError('payment_invalid')
    }
  }

  async #checkAgent({ agent, payer }: PaymentOrder): Promise<void> {
    const { chain, agentRegistry } = this.#options
    if (agent === '') return
    if (agentRegistry === null) throw new GatewayError('agent_identity_invalid')
    await checkAgent(chain, agentRegistry, BigInt(agent), payer)
  }

  /** Finds out what it takes to make the payment, or that somebody else has made it. */
  async #prepare(order: PaymentOrder): Promise<Sending> {
    const { pool, redis, chain, chainId, fees } = this.#options
    const { payment, transaction } = order
    if (transaction !== undefined) {
      const { hash, raw } = transaction
      const checked =
        raw === undefined
          ? await checkSent(chain, hash, order.transfer)
          : await checkSigned(raw, chainId, order.transfer)
      return { by: 'other', ...checked }
    }
    if (payment === undefined) throw new Error('a payment is signed or a transaction')
    const signer = this.#signerFor(order)
    const [simulation, price] = await Promise.all([simulatePayment(chain, payment, signer.address), fees.current()])
    if ('gas' in simulation) return { by: 'gateway', signer, chainId, gas: simulation.gas, fees: price }
    const { refusal } = simulation
    if (refusal === 'authorization_used') {
      const nonce = nonceOf(order.replayKey)
      const hash = await findForeignSettlement(pool, chain, order.transfer, nonce, simulation.block)
      if (hash !== undefined) return { by: 'other', hash, raw: undefined }
    }
    if (refusal === 'insufficient_funds' || refusal === 'allowance_required') {
      await rememberRefused(redis, order.transfer.token, order.payer)
    }
    throw refusalError(refusal)
  }

  /** MPP payments through Permit2 name who has to send them; the others are shared out. */
  #signerFor({ payment }: PaymentOrder): Signer {
    const { relayers } = this.#options
    const named = payment?.method === 'mpp-permit2' ? payment.spender : undefined
    const found = relayers.find(({ address }) => address === named) ?? relayers[this.#next++ % relayers.length]
    if (found === undefined) throw new Error('there is no key to send payments with')
    return found
  }

  /**
   * Decides a payment whose own transaction made no transfer: somebody else may have sent it first, and then it is paid
   * all the same; else it has failed.
   * @param deadlineMs until when to wait for that other transaction
   * @throws GatewayError chain_unavailable
   */
  async resolveUnmoved(payment: PaymentRow, deadlineMs = performance.now()): Promise<void> {
    const { pool, chain, watcher } = this.#options
    const found = await pool.query<{ transfer_from: Address; transfer_to: Address; block: number }>(
      `SELECT transfer_from, transfer_to, coalesce(block_number, 0) AS block FROM chain_transactions
       WHERE purpose = 'payment' AND ref = $1`,
      [payment.id],
    )
    const sides = found.rows[0]
    if (sides === undefined) return
    const { token, amount } = payment
    const transfer = { token, from: sides.transfer_from, to: sides.transfer_to, amount }
    const nonce = nonceOf(payment.replayKey)
    const hash = await findForeignSettlement(pool, chain, transfer, nonce, sides.block)
    if (hash === undefined) {
      await pool.query(`UPDATE payments SET state = 'failed' WHERE id = $1 AND state = 'settling'`, [payment.id])
      return
    }
    const order = { purpose: 'payment', ref: `${payment.id}${OTHER_SUFFIX}`, transfer } as const
    const id = await withTransaction(pool, (client) => storeForeign(client, order, hash, undefined))
    await watcher.wait(id, deadlineMs - performance.now())
  }

  /** Takes the hold of a payment that has arrived. */
  async #hold(id: string, deadlineMs: number): Promise<Settled> {
    const { pool, redis, log } = this.#options
    for (;;) {
      const payment = await paymentOf(pool, id)
      if (payment === undefined || payment.state === 'failed') throw new GatewayError('settlement_failed')
      if (payment.state !== 'paid') throw new GatewayError('settlement_unconfirmed')
      const hold = await takePaidHold(redis, pool, payment)
      if (typeof hold === 'object') {
        markHeld(pool, [id]).catch((error: Error) => log.debug({ err: error }, 'a hold was not noted; it is found'))
        return { transaction: await this.#hashOf(id), heldAtMs: hold.heldAtMs }
      }
      if (hold === 'late' || performance.now() > deadlineMs) throw new GatewayError('settlement_unconfirmed')
      await sleep(HOLD_RETRY_MS)
    }
  }

  async #hashOf(id: string): Promise<`0x${string}`> {
    const found = await this.#options.pool.query<{ hash: `0x${string}` }>(
      `SELECT hash FROM chain_transactions
       WHERE purpose = 'payment' AND ref IN ($1, $1 || '${OTHER_SUFFIX}') AND state = 'mined'`,
      [id],
    )
    return found.rows[0]?.hash ?? '0x'
  }
}
