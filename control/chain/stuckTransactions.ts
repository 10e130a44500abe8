import { GATEWAY_WIDE, OPERATOR, recordActivity } from '../runtime/activity/activity.ts'
import { locking } from '../runtime/db/lockOrder.ts'
import { type Client, type Pool, type Queryable, withTransaction } from '../runtime/db/pool.ts'
import { NotStuckError } from './notStuckError.ts'
import { openSender } from './outbox.ts'
import type { MadeTransfer } from './outcomeSearch.ts'
import { type OutcomeHandlers, outcomeHandler } from './recorder.ts'
import { type TransactionRow, transactionOf } from './transactionRow.ts'

/** A stuck transaction by its id. @throws NotStuckError */
export async function stuckTransaction(db: Queryable, id: number): Promise<TransactionRow> {
  const row = await transactionOf(db, id)
  if (row?.state === 'stuck') return row
  throw new NotStuckError(
    row === undefined ? `there is no transaction ${id}` : `transaction ${id} is ${row.state}, not stuck`,
  )
}

/**
 * Books the decision of an operator that a stuck transaction was not made: what it is for is done by another one.
 * @param chainNonce the sender's next nonce on the chain: those that another program has used are left out
 * @throws NotStuckError when it has left that state, or when its nonce is unused on the chain
 */
export async function releaseStuck(
  pool: Pool,
  handlers: OutcomeHandlers,
  { id, purpose, ref, sender, nonce }: TransactionRow,
  chainNonce: number,
  reason: string,
): Promise<void> {
  if (chainNonce <= nonce) throw new NotStuckError(`the nonce of transaction ${id} is unused, so it may still be made`)
  await withTransaction(pool, async (client) => {
    await leaveState(client, id, `state = 'displaced'`)
    if (sender !== undefined) await openSender(client, sender, chainNonce)
    await outcomeHandler(handlers, purpose).unmade(client, ref)
    const change = { accountId: GATEWAY_WIDE, type: 'transaction.released', target: String(id) }
    await recordActivity(client, OPERATOR, [{ ...change, details: { purpose, ref, reason } }])
  })
}

/**
 * Books the decision of an operator that another transaction made the transfer of a stuck one.
 * @throws NotStuckError when it has left that state
 */
export async function settleStuck(
  pool: Pool,
  handlers: OutcomeHandlers,
  { id, purpose, ref }: TransactionRow,
  { hash, blockNumber, blockHash }: MadeTransfer,
  reason: string,
): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO chain_attempts (hash, transaction_id, max_fee, priority_fee) VALUES ($1, $2, 0, 0)
       ON CONFLICT (hash, transaction_id) DO NOTHING`,
      [hash, id],
    )
    const place = [hash, blockNumber, blockHash]
    await leaveState(client, id, `state = 'mined', hash = $2, block_number = $3, block_hash = $4`, place)
    await outcomeHandler(handlers, purpose).mined(client, ref)
    const change = { accountId: GATEWAY_WIDE, type: 'transaction.settled', target: String(id) }
    await recordActivity(client, OPERATOR, [{ ...change, details: { purpose, ref, hash, reason } }])
  })
}

async function leaveState(client: Client, id: number, change: string, values: readonly unknown[] = []): Promise<void> {
  locking(client, 'chainTransactions', () => [String(id)])
  const updated = await client.query(`UPDATE chain_transactions SET ${change} WHERE id = $1 AND state = 'stuck'`, [
    id,
    ...values,
  ])
  if (updated.rowCount === 0) throw new NotStuckError(`transaction ${id} is not stuck any more`)
}
