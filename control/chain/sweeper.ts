import type { Logger } from 'pino'
import { tryLock } from '../runtime/db/locks.ts'
import { withTransaction } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { Loop } from '../runtime/loop.ts'
import type { SenderParts } from './contractCall.ts'
import { eachApart } from './eachApart.ts'
import { storeAttempt } from './outbox.ts'
import { searchOutcome } from './outcomeSearch.ts'
import type { Signer } from './signer.ts'
import { type Attempt, isOutgoing, openBlocks, pendingTransactions, type TransactionRow } from './transactionRow.ts'

export interface SweeperOptions extends SenderParts {
  readonly signers: ReadonlyMap<string, Signer>
  /** Blocks after which nothing is expected to be taken back. */
  readonly finalBlocks: number
  readonly log: Logger
}

/**
 * Handles every transaction in the book that is not final, independent of the process that stored it: resends transactions
 * that are in no block, with a higher fee after a while, and reverses bookings of transactions that the chain took back.
 */
export class TransactionSweeper {
  private readonly options: SweeperOptions
  private readonly loop: Loop
  private readonly sweptOnce: Promise<void>
  private tellSwept: () => void = () => {}

  constructor(options: SweeperOptions) {
    this.options = options
    this.sweptOnce = new Promise((resolve) => {
      this.tellSwept = resolve
    })
    this.loop = new Loop('transaction sweep', options.limits.chainSweepMs, options.log, (signal) => this.pass(signal))
  }

  /** Resolves when everything that an earlier process left has been handled once. */
  get swept(): Promise<void> {
    return this.sweptOnce
  }

  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    await tryLock(this.options.pool, 'chainSweep', async () => {
      await this.checkBlocks()
      const pending = await pendingTransactions(this.options.pool, this.options.limits.chainSweepMax)
      await eachApart(pending, signal, (row) => this.push(row))
    })
    this.tellSwept()
  }

  private async checkBlocks(): Promise<void> {
    const { pool, chain, watcher, finalBlocks, log } = this.options
    const blocks = await openBlocks(pool, this.options.limits.chainSweepMax)
    if (blocks.length === 0) return
    for (const block of blocks) {
      // In one request, so that the node that has the block is the one whose chain is so long.
      const [hash, head] = await Promise.all([this.hashOf(block.number), chain.getBlockNumber()])
      if (hash === block.hash) {
        if (block.number <= Number(head) - finalBlocks) await watcher.recorder.finalize(block.number, block.hash)
        continue
      }
      const count = await watcher.recorder.takeBack(block.number, block.hash)
      logEvent(log, 'chain_reorganized', { block: block.number, transactions: count })
    }
  }

  private async hashOf(blockNumber: number): Promise<string | undefined> {
    try {
      return (await this.options.chain.getBlock({ blockNumber: BigInt(blockNumber) })).hash
    } catch (error) {
      if (error instanceof Error && error.name === 'BlockNotFoundError') return undefined
      throw error
    }
  }

  /** Brings one transaction nearer to a block. */
  private async push(row: TransactionRow): Promise<void> {
    const { watcher } = this.options
    const receipt = await watcher.receiptOf(row)
    // Found, or perhaps not deep enough yet: the watcher records it.
    if (receipt !== undefined || row.state === 'pending') watcher.watch(row)
    if (receipt !== undefined) return
    if (row.state === 'stuck') return this.decide(row)
    const newest = row.attempts[0]
    if (newest === undefined) return
    if (row.sender === undefined) return this.pushForeign(row, newest)
    if (newest.raw !== undefined) await watcher.broadcast(newest.raw)
    if (newest.ageMs > this.options.limits.replaceAfterMs) await this.replace(row)
    if (await this.isNonceUsed(row)) await this.decide(row)
  }

  /** A payer may have used its nonce for another transaction; if this one is still mined, the scan of transfers finds it. */
  private async pushForeign(row: TransactionRow, { hash, raw, ageMs }: Attempt): Promise<void> {
    const { watcher, limits } = this.options
    const isTaken = raw === undefined || (await watcher.offer({ hash, raw }))
    if (!isTaken || ageMs > limits.payerTransactionMs) await watcher.recorder.displace(row)
  }

  /**
   * Decides a transaction whose nonce was used and that has no receipt. A transaction without any trace may still be made: such a
   * transaction is given up only where making it again cannot pay twice.
   */
  private async decide(row: TransactionRow): Promise<void> {
    const { watcher, chain, log, limits } = this.options
    const found = await searchOutcome(chain, row, limits)
    const { id: transaction, purpose, ref, sender, nonce } = row
    if (found.kind === 'made') {
      await watcher.recorder.recordMade(row, found)
      logEvent(log, 'chain_transfer_found', { transaction, purpose, ref, hash: found.hash })
    } else if (row.state === 'stuck') {
      // The chain took the nonce back, so that it can be made after all.
      if (!(await this.isNonceUsed(row))) await watcher.recorder.lookAgain(transaction)
    } else if (isOutgoing(row) || (row.transfer !== undefined && found.kind === 'included')) {
      if (!(await watcher.recorder.leaveStuck(row))) return
      logEvent(log, 'chain_transaction_stuck', { transaction, purpose, ref, sender, nonce })
    } else if (found.kind === 'absent') {
      logEvent(log, 'chain_nonce_conflict', { transaction, sender, nonce })
      await watcher.recorder.displace(row)
    }
  }

  /** Signs a transaction again with a higher fee; the node takes it in place of the one before. */
  private async replace(row: TransactionRow): Promise<void> {
    const { pool, chainId, fees, signers, watcher, log } = this.options
    const signer = signers.get(row.sender ?? '')
    const [newest] = row.attempts
    if (signer === undefined || newest === undefined || row.attempts.length > this.options.limits.replacementsMax)
      return
    const raised = await fees.replacing(newest.fees)
    if (raised === undefined) return
    const { nonce, target, data, gas } = row
    const signed = await signer.sign({ chainId, nonce, to: target, data, gas, ...raised })
    await withTransaction(pool, (client) => storeAttempt(client, row.id, signed, raised))
    logEvent(log, 'chain_transaction_repriced', { transaction: row.id, hash: signed.hash })
    watcher.watch({ ...row, attempts: [{ ...signed, fees: raised, ageMs: 0 }, ...row.attempts] })
    await watcher.broadcast(signed.raw)
  }

  /** Whether the sender's nonce was used, by this transaction or another one, so deep that it cannot be used again. */
  private async isNonceUsed({ sender, nonce }: TransactionRow): Promise<boolean> {
    const { chain, finalBlocks } = this.options
    const deep = (await chain.getBlockNumber()) - BigInt(finalBlocks)
    if (deep < 0n || sender === undefined) return false
    return (await chain.getTransactionCount({ address: sender, blockNumber: deep })) > nonce
  }
}
