import type { TransactionReceipt } from 'viem'
import { locking } from '../runtime/db/lockOrder.ts'
import { lockTextUntilCommit } from '../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../runtime/db/pool.ts'
import type { Purpose } from './outbox.ts'
import type { MadeTransfer } from './outcomeSearch.ts'
import type { TransactionRow, TransactionState } from './transactionRow.ts'
import { hasTransferred, isTransfer } from './transferLog.ts'

/** The bookings for a change of a transaction, made in the database transaction that records its state. */
export interface OutcomeHandler {
  /**
   * The setting that says how deep its transactions have to be. Payments for requests are small; deposits are larger and can
   * be withdrawn again.
   */
  readonly depth: 'confirmations' | 'depositConfirmations'
  /** The transfer was made. Called again when a block was taken back and the transaction got into another. */
  mined(client: Client, ref: string): Promise<void>
  /** It is in a block and made no transfer, or can get into none. Called again likewise, also after `mined`. */
  unmade(client: Client, ref: string): Promise<void>
  /** Whether a transaction that moves no tokens has achieved its purpose. */
  isMade?(receipt: TransactionReceipt, row: TransactionRow): boolean
}

/** The handlers of the products that this process runs. */
export type OutcomeHandlers = Readonly<Partial<Record<Purpose, OutcomeHandler>>>

/** @throws Error for a purpose of a product that this process does not run; its transactions stay as they are */
export function outcomeHandler(handlers: OutcomeHandlers, purpose: Purpose): OutcomeHandler {
  const handler = handlers[purpose]
  if (handler === undefined) throw new Error(`no product of this process books transactions for ${purpose}`)
  return handler
}

/** Writes the outcomes of transactions into the book. */
export class OutcomeRecorder {
  private readonly pool: Pool
  private readonly handlers: OutcomeHandlers
  /** Called after each commit. */
  private readonly onRecorded: (transactionId: number, state: TransactionState) => void

  constructor(pool: Pool, handlers: OutcomeHandlers, onRecorded: (id: number, state: TransactionState) => void) {
    this.pool = pool
    this.handlers = handlers
    this.onRecorded = onRecorded
  }

  /** Records that a transaction is in a block, once; an earlier record of another control stays. */
  record(row: TransactionRow, receipt: TransactionReceipt): Promise<void> {
    const { transactionHash: hash, blockNumber, blockHash } = receipt
    const place = { hash, blockNumber: Number(blockNumber), blockHash }
    return this.enter(row, this.isMade(row, receipt) ? 'mined' : 'reverted', place, transfersOf(receipt, row))
  }

  /** Records a transfer that the logs of the chain show, where the receipt is missing. */
  recordMade(row: TransactionRow, made: MadeTransfer): Promise<void> {
    return this.enter(row, 'mined', made, 1)
  }

  private async enter(
    row: TransactionRow,
    shown: 'mined' | 'reverted',
    { hash, blockNumber, blockHash }: Pick<MadeTransfer, 'hash' | 'blockNumber' | 'blockHash'>,
    transfers: number,
  ): Promise<void> {
    let state = shown
    const isNew = await withTransaction(this.pool, async (client) => {
      // The transaction of another sender may be shared by several rows, and make fewer transfers in another block.
      const isShared = shown === 'mined' && row.sender === undefined && row.transfer !== undefined
      if (isShared && (await othersOf(client, row, hash)) >= transfers) state = 'reverted'
      locking(client, 'chainTransactions', () => [String(row.id)])
      const updated = await client.query(
        `UPDATE chain_transactions SET state = $2, hash = $3, block_number = $4, block_hash = $5
         WHERE id = $1 AND state IN ('pending', 'stuck')`,
        [row.id, state, hash, blockNumber, blockHash],
      )
      if (updated.rowCount === 0) return false
      await outcomeHandler(this.handlers, row.purpose)[state === 'mined' ? 'mined' : 'unmade'](client, row.ref)
      return true
    })
    if (isNew) this.onRecorded(row.id, state)
  }

  private isMade(row: TransactionRow, receipt: TransactionReceipt): boolean {
    if (row.transfer !== undefined) return hasTransferred(receipt, row.transfer)
    return outcomeHandler(this.handlers, row.purpose).isMade?.(receipt, row) === true
  }

  /** Puts the transactions of a block that the chain took back among the pending again. @returns how many */
  async takeBack(blockNumber: number, blockHash: string): Promise<number> {
    const updated = await this.pool.query(
      `UPDATE chain_transactions SET state = 'pending', hash = NULL, block_number = NULL, block_hash = NULL
       WHERE block_number = $1 AND block_hash = $2 AND NOT final`,
      [blockNumber, blockHash],
    )
    return updated.rowCount ?? 0
  }

  /** Records that the transactions of a block are final. */
  async finalize(blockNumber: number, blockHash: string): Promise<void> {
    await this.pool.query(
      `UPDATE chain_transactions SET final = true
       WHERE NOT final AND state IN ('mined', 'reverted') AND block_number = $1 AND block_hash = $2`,
      [blockNumber, blockHash],
    )
  }

  /** Looks again for a transaction that was given up or left to an operator, because it is in a block or may get into one. */
  async lookAgain(transactionId: number): Promise<void> {
    await this.pool.query(
      `UPDATE chain_transactions SET state = 'pending' WHERE id = $1 AND state IN ('displaced', 'stuck')`,
      [transactionId],
    )
  }

  /**
   * Leaves a transaction to an operator: its nonce was used, and nothing shows whether it was made. The row that it is for stays as it is.
   * @returns whether this is new
   */
  async leaveStuck(row: TransactionRow): Promise<boolean> {
    const updated = await this.pool.query(
      `UPDATE chain_transactions SET state = 'stuck' WHERE id = $1 AND state = 'pending'`,
      [row.id],
    )
    if (updated.rowCount === 0) return false
    this.onRecorded(row.id, 'stuck')
    return true
  }

  /** Records that a transaction can never be mined, which is never assumed of one that takes money out. */
  async displace(row: TransactionRow): Promise<void> {
    const isNew = await withTransaction(this.pool, async (client) => {
      locking(client, 'chainTransactions', () => [String(row.id)])
      const updated = await client.query(
        `UPDATE chain_transactions SET state = 'displaced' WHERE id = $1 AND state = 'pending'`,
        [row.id],
      )
      if (updated.rowCount === 0) return false
      await outcomeHandler(this.handlers, row.purpose).unmade(client, row.ref)
      return true
    })
    if (isNew) this.onRecorded(row.id, 'displaced')
  }
}

function transfersOf({ logs }: TransactionReceipt, { transfer }: TransactionRow): number {
  return transfer === undefined ? 0 : logs.filter((log) => isTransfer(log, transfer)).length
}

/** How many other rows have claimed a transfer like that of this one in a transaction; none is added until the commit. */
async function othersOf(client: Client, { id, transfer }: TransactionRow, hash: string): Promise<number> {
  await lockTextUntilCommit(client, 'chainTransfers', `transfers of ${hash}`)
  const found = await client.query<{ others: number }>(
    `SELECT count(*) AS others FROM chain_transactions
     WHERE state = 'mined' AND id <> $1 AND hash = $2 AND token = $3 AND transfer_from = $4 AND transfer_to = $5 AND amount = $6`,
    [id, hash, transfer?.token, transfer?.from, transfer?.to, transfer?.amount.toString()],
  )
  return found.rows[0]?.others ?? 0
}
