import { MAY_BE_MADE } from '../../../chain/transactionRow.ts'
import { camelColumns } from '../../../runtime/db/columns.ts'
import { countOf } from '../../../runtime/db/count.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import type { Deposit } from '../deposits/depositRow.ts'
import type { PaymentsLimits } from '../limits.ts'

export type WithdrawalState = 'sending' | 'sent' | 'returned'

/** Coin of an account that leaves to its wallet. `amount` is atomic units of the token. */
export interface Withdrawal extends Omit<Deposit, 'source' | 'replayKey' | 'state'> {
  readonly state: WithdrawalState
  readonly attempts: number
}

type Row = Omit<Withdrawal, 'amount'> & { readonly amount: string }

const COLUMNS = `${camelColumns('w.id, w.account_id, w.wallet, w.asset, w.token, w.units, w.state, w.attempts, w.created_at')},
  w.amount::text AS amount, w.coin_nanos AS nanos, (SELECT t.hash FROM chain_transactions t
    WHERE t.purpose = 'withdrawal' AND t.subject_id = w.id AND t.attempt = w.attempts AND t.state = 'mined') AS hash`

const asWithdrawal = (row: Row): Withdrawal => ({ ...row, amount: BigInt(row.amount) })

/** Writes a withdrawal whose coin is in escrow, inside the caller's transaction. */
export async function insertWithdrawal(
  client: Client,
  withdrawal: Pick<Withdrawal, 'id' | 'accountId' | 'wallet' | 'asset' | 'token' | 'amount' | 'nanos' | 'units'>,
): Promise<Withdrawal> {
  const { id, accountId, wallet, asset, token, amount, nanos, units } = withdrawal
  await client.query(
    `INSERT INTO withdrawals (id, account_id, wallet, asset, token, amount, coin_nanos, units)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, accountId, wallet, asset, token, amount.toString(), nanos, units],
  )
  const stored = await withdrawalOf(client, accountId, id)
  if (stored === undefined) throw new Error(`withdrawal ${id} is not there`)
  return stored
}

/** A withdrawal of an account. */
export async function withdrawalOf(db: Queryable, accountId: string, id: string): Promise<Withdrawal | undefined> {
  const found = await db.query<Row>(`SELECT ${COLUMNS} FROM withdrawals w WHERE w.id = $1 AND w.account_id = $2`, [
    id,
    accountId,
  ])
  return found.rows[0] && asWithdrawal(found.rows[0])
}

/** The withdrawals of an account, newest first. @param after the id of the withdrawal to continue after, or '' */
export async function pageOfWithdrawals(db: Queryable, accountId: string, limit: number, after: string) {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM withdrawals w WHERE w.account_id = $1 AND ($2 = '' OR w.id < $2)
     ORDER BY w.id DESC LIMIT $3`,
    [accountId, after, limit],
  )
  return found.rows.map(asWithdrawal)
}

/** How many withdrawals of an account have not been sent. */
export async function countOpenWithdrawals(db: Queryable, accountId: string): Promise<number> {
  return countOf(db, `SELECT count(*) FROM withdrawals WHERE account_id = $1 AND state = 'sending'`, [accountId])
}

/**
 * Withdrawals that have to be sent, oldest first: those without a transaction that may still make the transfer, and with
 * attempts left.
 * @param after the id to begin after; the withdrawals up to it come last
 */
export async function dueWithdrawals(
  db: Queryable,
  limit: number,
  after: string,
  limits: PaymentsLimits,
): Promise<Withdrawal[]> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM withdrawals w
     WHERE w.state = 'sending' AND NOT EXISTS (SELECT FROM chain_transactions t
       WHERE t.purpose = 'withdrawal' AND t.subject_id = w.id AND t.attempt = w.attempts
         AND ${MAY_BE_MADE})
       AND w.attempts < coalesce(w.attempts_max, $3)
     ORDER BY w.id > $2 DESC, w.id LIMIT $1`,
    [limit, after, limits.withdrawalAttemptsMax],
  )
  return found.rows.map(asWithdrawal)
}

/** Withdrawals whose transactions have all failed, as many as are made without an operator. */
export async function abandonedWithdrawals(db: Queryable, limits: PaymentsLimits): Promise<string[]> {
  const found = await db.query<{ id: string }>(
    `SELECT w.id FROM withdrawals w
     WHERE w.state = 'sending' AND w.attempts >= coalesce(w.attempts_max, $1) AND NOT EXISTS (SELECT FROM chain_transactions t
       WHERE t.purpose = 'withdrawal' AND t.subject_id = w.id AND t.attempt = w.attempts AND ${MAY_BE_MADE})
     ORDER BY w.id LIMIT $2`,
    [limits.withdrawalAttemptsMax, limits.withdrawalBatchMax],
  )
  return found.rows.map(({ id }) => id)
}

/** A withdrawal that has another state now, with a name for the transfer that books this. */
export interface MovedWithdrawal {
  readonly accountId: string
  readonly nanos: number
  readonly units: number
  readonly moveRef: string
}

/**
 * Follows the chain: the state of a withdrawal changes when it was the other one.
 * @param attempts only while it has this many; a control that has claimed the next one sends it
 * @returns undefined when nothing changed
 */
export async function moveWithdrawal(
  client: Client,
  id: string,
  from: WithdrawalState,
  to: WithdrawalState,
  attempts?: number,
): Promise<MovedWithdrawal | undefined> {
  locking(client, 'withdrawals', () => [id])
  const changed = await client.query<{ nanos: number; units: number; accountId: string; moves: number }>(
    `UPDATE withdrawals SET state = $3, moves = moves + 1 WHERE id = $1 AND state = $2
       AND attempts = coalesce($4, attempts)
     RETURNING coin_nanos AS nanos, units, account_id AS "accountId", moves`,
    [id, from, to, attempts],
  )
  const row = changed.rows[0]
  if (row === undefined) return undefined
  const { moves, ...moved } = row
  return { ...moved, moveRef: `${id}:${moves}` }
}

/** Allows a withdrawal that is not sent a number of further attempts. @returns whether there is one */
export async function allowWithdrawalAttempts(client: Queryable, id: string, attempts: number): Promise<boolean> {
  const raised = await client.query(
    `UPDATE withdrawals SET attempts_max = attempts + $2 WHERE id = $1 AND state = 'sending'`,
    [id, attempts],
  )
  return raised.rowCount === 1
}

/** How many withdrawals of an account have this id or a later one. */
export async function countWithdrawals(client: Queryable, accountId: string, id: string): Promise<number> {
  return countOf(client, `SELECT count(*) FROM withdrawals WHERE account_id = $1 AND id >= $2`, [accountId, id])
}
