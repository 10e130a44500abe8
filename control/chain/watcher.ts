import type { Logger } from 'pino'
import type { Hex, TransactionReceipt } from 'viem'
import type { Pool } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { Loop } from '../runtime/loop.ts'
import { type ChainClient, findTransaction, isUnanswered } from './chainClient.ts'
import type { ChainLimits } from './limits.ts'
import type { Purpose, StoredTransaction } from './outbox.ts'
import { type OutcomeHandler, type OutcomeHandlers, OutcomeRecorder } from './recorder.ts'
import { type TransactionRow, type TransactionState, transactionOf } from './transactionRow.ts'

const POLL_FIRST_MS = 10

interface Watched {
  row: TransactionRow
  /** It was found and could not be booked: until then it waits for its next try, by `performance.now()`. */
  bookAtMs: number
  /** Called when it is in a block, or can never be. */
  readonly waiting: Array<(state: TransactionState) => void>
}

export interface WatcherOptions {
  readonly pool: Pool
  readonly chain: ChainClient
  readonly log: Logger
  readonly handlers: OutcomeHandlers
  /** Blocks that a transaction has to be deep, its own counted, before it counts: one of them by its handler's `depth`. */
  readonly confirmations: Readonly<Record<OutcomeHandler['depth'], number>>
  readonly limits: ChainLimits
}

/** Sends stored transactions and follows them until they are final. */
export class TransactionWatcher {
  readonly recorder: OutcomeRecorder
  private readonly pool: Pool
  private readonly chain: ChainClient
  private readonly log: Logger
  private readonly watched = new Map<number, Watched>()
  private readonly options: WatcherOptions
  private readonly loop: Loop
  private pollMs = POLL_FIRST_MS
  private timer: NodeJS.Timeout | undefined
  private stopping = false
  private readonly limits: ChainLimits

  constructor(options: WatcherOptions) {
    this.limits = options.limits
    this.options = options
    this.pool = options.pool
    this.chain = options.chain
    this.log = options.log
    this.recorder = new OutcomeRecorder(options.pool, options.handlers, (id, state) => this.recorded(id, state))
    this.loop = new Loop('transactions', options.limits.chainSweepMs, options.log, () => this.poll())
  }

  /** How many transactions are looked for. */
  get size(): number {
    return this.watched.size
  }

  async stop(): Promise<void> {
    this.stopping = true
    clearTimeout(this.timer)
    await this.loop.stop()
    this.watched.clear()
  }

  /**
   * Sends a stored transaction, after its commit, and waits until it is in a block.
   * @returns its state in the book when it has left 'pending', else 'pending' after `waitMs`
   */
  async send(transaction: StoredTransaction, waitMs: number): Promise<TransactionState> {
    const outcome = this.wait(transaction.id, waitMs)
    await this.broadcast(transaction.raw)
    return outcome
  }

  /**
   * Sends a stored transaction that another party has signed, after its commit. If the node refuses it, it is given up.
   * @returns as `send`
   */
  async sendForeign(transaction: StoredTransaction, waitMs: number): Promise<TransactionState> {
    const outcome = this.wait(transaction.id, waitMs)
    if (!(await this.offer(transaction))) {
      const row = await transactionOf(this.pool, transaction.id)
      if (row !== undefined) await this.recorder.displace(row)
    }
    return outcome
  }

  /**
   * Submits a transaction that another party has signed to the node.
   * @returns false when the node refuses it and does not have it; true also when that is not known
   */
  async offer({ hash, raw }: Pick<StoredTransaction, 'hash' | 'raw'>): Promise<boolean> {
    try {
      await this.chain.sendRawTransaction({ serializedTransaction: raw })
      this.soon()
      return true
    } catch (error) {
      logEvent(this.log, 'chain_payer_transaction_refused', { err: error })
      if (isUnanswered(error)) return true
      const found = await findTransaction(this.chain, hash).catch(() => null)
      return found !== undefined
    }
  }

  /** Waits until a stored transaction is in a block. @returns as `send` */
  async wait(id: number, waitMs: number): Promise<TransactionState> {
    const row = await transactionOf(this.pool, id)
    if (row === undefined) throw new Error(`there is no transaction ${id}`)
    if (row.state !== 'pending') return row.state
    const watched = this.watch(row)
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve('pending'), waitMs)
      watched.waiting.push((state) => {
        clearTimeout(timer)
        resolve(state)
      })
    })
  }

  /** Polls for a transaction from now on; updates the attempts of one that is polled for already. */
  watch(row: TransactionRow): Watched {
    const known = this.watched.get(row.id)
    if (known !== undefined) {
      known.row = row
      return known
    }
    const watched: Watched = { row, bookAtMs: 0, waiting: [] }
    this.watched.set(row.id, watched)
    this.soon()
    return watched
  }

  /** Submits a signed transaction to the node. Never throws: a failure shows in the later state of the transaction. */
  async broadcast(raw: Hex): Promise<void> {
    try {
      await this.chain.sendRawTransaction({ serializedTransaction: raw })
    } catch (error) {
      // Nodes also answer with an error if they know the transaction already, or have it in a block.
      logEvent(this.log, 'chain_transaction_refused', { err: error })
    }
    this.soon()
  }

  /** A fresh transaction is often in a block immediately; the polls become rarer while nothing happens. */
  private soon(): void {
    if (this.stopping) return
    this.pollMs = POLL_FIRST_MS
    this.schedule()
  }

  private schedule(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.loop.wake(), this.pollMs)
  }

  private async poll(): Promise<void> {
    if (this.watched.size === 0) return
    const before = this.watched.size
    const nowMs = performance.now()
    const watched = [...this.watched.values()].filter(({ bookAtMs }) => bookAtMs <= nowMs)
    const isAnyDeep = watched.some(({ row }) => this.confirmationsOf(row.purpose) > 1)
    const head = isAnyDeep ? await this.chain.getBlockNumber() : 0n
    const unbooked: unknown[] = []
    const looks = watched.map(async (one) => {
      const { row } = one
      const receipt = await this.receiptOf(row)
      const depth = this.confirmationsOf(row.purpose) - 1
      if (receipt === undefined || (depth > 0 && receipt.blockNumber + BigInt(depth) > head)) return
      try {
        await this.recorder.record(row, receipt)
      } catch (error) {
        // A deposit that its account is too full for keeps no other waiting.
        one.bookAtMs = performance.now() + this.limits.chainSweepMs
        unbooked.push(error)
        return
      }
      // Another control may have recorded it; then only this call notifies the waiters of this process.
      if (this.watched.has(row.id)) await this.tellFromBook(row.id)
    })
    const failed = (await Promise.allSettled(looks)).find((look) => look.status === 'rejected')
    // A node that does not answer is asked again at the interval of the loop.
    if (failed !== undefined) throw failed.reason
    this.pollMs = this.watched.size < before ? POLL_FIRST_MS : Math.min(this.pollMs * 2, this.limits.chainPollMs)
    if (watched.length > unbooked.length && !this.stopping) this.schedule()
    if (unbooked.length > 0) throw unbooked[0]
  }

  private confirmationsOf(purpose: Purpose): number {
    const { handlers, confirmations } = this.options
    return confirmations[handlers[purpose]?.depth ?? 'depositConfirmations']
  }

  /** The receipt of whichever form of a transaction is in a block. @throws errors of the node */
  async receiptOf(row: TransactionRow): Promise<TransactionReceipt | undefined> {
    const receipts = await Promise.all(row.attempts.map(({ hash }) => this.receipt(hash)))
    return receipts.find((receipt) => receipt !== undefined)
  }

  private async receipt(hash: Hex): Promise<TransactionReceipt | undefined> {
    try {
      return await this.chain.getTransactionReceipt({ hash })
    } catch (error) {
      if (error instanceof Error && error.name === 'TransactionReceiptNotFoundError') return undefined
      throw error
    }
  }

  private async tellFromBook(id: number): Promise<void> {
    const row = await transactionOf(this.pool, id)
    if (row !== undefined && row.state !== 'pending') this.recorded(id, row.state)
  }

  private recorded(id: number, state: TransactionState): void {
    const watched = this.watched.get(id)
    this.watched.delete(id)
    for (const tell of watched?.waiting ?? []) tell(state)
  }
}
