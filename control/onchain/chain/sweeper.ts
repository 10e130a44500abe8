import type { Logger } from 'pino'
import type { Limits } from '../../limits.ts'
import { tryLock } from '../../runtime/db/locks.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { ChainClient } from './chainClient.ts'
import { eachApart } from './eachApart.ts'
import type { FeeOracle } from './fees.ts'
import { storeAttempt } from './outbox.ts'
import type { Signer } from './signer.ts'
import { openBlocks, pendingTransactions, type TransactionRow } from './transactionRow.ts'
import type { TransactionWatcher } from './watcher.ts'

export interface SweeperOptions {
  readonly pool: Pool
  readonly chain: ChainClient
  readonly chainId: number
  readonly watcher: TransactionWatcher
  readonly fees: FeeOracle
  readonly signers: ReadonlyMap<string, Signer>
  /** Blocks after which nothing is expected to be taken back. */
  readonly finalBlocks: number
  readonly log: Logger
  readonly limits: Limits
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
    const { pool, chain, watcher, log } = this.options
    const blocks = await openBlocks(pool, this.options.limits.chainSweepMax)
    if (blocks.length === 0) return
    const head = Number(await chain.getBlockNumber())
    for (const block of blocks) {
      if ((await this.hashOf(block.number)) === block.hash) continue
      const count = await watcher.recorder.takeBack(block.number, block.hash)
      logEvent(log, 'chain_reorganized', { block: block.number, transactions: count })
    }
    await watcher.recorder.finalize(head - this.options.finalBlocks)
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
    const { watcher, chain, log } = this.options
    watcher.watch(row)
    const receipt = await watcher.receiptOf(row)
    // Found, or perhaps not deep enough yet: the watcher records it.
    if (receipt !== undefined) return
    const newest = row.attempts[0]
    if (newest === undefined) return
    if (row.sender === undefined) {
      const { hash, raw, ageMs } = newest
      const isTaken = raw === undefined || (await watcher.offer({ hash, raw }))
      // The payer may have used its nonce for another transaction; if this one is still mined, the scan of transfers finds it.
      if (!isTaken || ageMs > this.options.limits.payerTransactionMs) await watcher.recorder.displace(row)
      return
    }
    if (newest.raw !== undefined) await watcher.broadcast(newest.raw)
    if (newest.ageMs > this.options.limits.replaceAfterMs) await this.replace(row)
    if (await this.isDisplaced(row, chain)) {
      logEvent(log, 'chain_nonce_conflict', { transaction: row.id, sender: row.sender, nonce: row.nonce })
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

  /** Whether another transaction has used the sender's nonce, with enough confirmations that this one can not be mined. */
  private async isDisplaced(row: TransactionRow, chain: ChainClient): Promise<boolean> {
    const head = await chain.getBlockNumber()
    const deep = head - BigInt(this.options.finalBlocks)
    if (deep < 0n || row.sender === undefined) return false
    const count = await chain.getTransactionCount({ address: row.sender, blockNumber: deep })
    if (count <= row.nonce) return false
    // It may have got into a block since it was looked for.
    return (await this.options.watcher.receiptOf(row)) === undefined
  }
}
