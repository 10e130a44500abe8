import type { Address } from '../../../../contract/payments/address.ts'
import { MAY_BE_MADE } from '../../../chain/transactionRow.ts'
import { countOf } from '../../../runtime/db/count.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import type { Mint } from './lockTokensContract.ts'

export type LockWithdrawalState = 'sending' | 'sent' | 'returned' | 'expired'

/** Tokens of a holding that leave to a wallet. */
export interface LockWithdrawal {
  readonly id: string
  readonly seriesId: string
  readonly accountId: string
  readonly wallet: Address
  readonly contract: Address
  readonly micros: number
  /** At the locked price. */
  readonly units: number
  readonly state: LockWithdrawalState
  readonly createdAt: Date
  /** Of the mint, once it is in a block. */
  readonly hash: string | null
}

/** A withdrawal whose mint has to be sent, and how many transactions were stored for it. */
export type DueMint = LockWithdrawal & Mint & { readonly attempts: number }

const OWN_TRANSACTIONS = `chain_transactions t WHERE t.purpose = 'lock_mint' AND t.subject_id = w.id`
const COLUMNS = `w.id, w.series_id AS "seriesId", w.account_id AS "accountId", w.wallet, w.contract, w.micros, w.units, w.state,
  w.created_at AS "createdAt", (SELECT t.hash FROM ${OWN_TRANSACTIONS} AND t.state = 'mined' LIMIT 1) AS hash`

/** Writes a withdrawal whose tokens were taken off the holding, inside the caller's transaction. */
export async function insertLockWithdrawal(
  client: Client,
  made: Omit<LockWithdrawal, 'state' | 'createdAt' | 'hash'>,
): Promise<LockWithdrawal> {
  const { id, seriesId, accountId, wallet, contract, micros, units } = made
  const stored = await client.query<LockWithdrawal>(
    `WITH w AS (INSERT INTO lock_withdrawals (id, series_id, account_id, wallet, contract, micros, units)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *) SELECT ${COLUMNS} FROM w`,
    [id, seriesId, accountId, wallet, contract, micros, units],
  )
  const [row] = stored.rows
  if (row === undefined) throw new Error(`withdrawal ${id} was not stored`)
  return row
}

/** The withdrawals of an account, newest first. @param after the id of the last one of the page before, or '' */
export async function pageOfLockWithdrawals(db: Queryable, accountId: string, limit: number, after: string) {
  const found = await db.query<LockWithdrawal>(
    `SELECT ${COLUMNS} FROM lock_withdrawals w WHERE w.account_id = $1 AND ($2 = '' OR w.id < $2)
     ORDER BY w.id DESC LIMIT $3`,
    [accountId, after, limit],
  )
  return found.rows
}

/** The withdrawal with this id, where it is the account's. */
export async function lockWithdrawalOf(
  db: Queryable,
  accountId: string,
  id: string,
): Promise<LockWithdrawal | undefined> {
  const found = await db.query<LockWithdrawal>(
    `SELECT ${COLUMNS} FROM lock_withdrawals w WHERE w.id = $1 AND w.account_id = $2`,
    [id, accountId],
  )
  return found.rows[0]
}

/** How many withdrawals of an account have not been sent. */
export async function countOpenLockWithdrawals(db: Queryable, accountId: string): Promise<number> {
  return countOf(db, `SELECT count(*) FROM lock_withdrawals WHERE account_id = $1 AND state = 'sending'`, [accountId])
}

/** Transactions that may mint a withdrawal, or have; one that failed in a block counts until that block is final. */
const LIVE_TRANSACTIONS = `${OWN_TRANSACTIONS}
       AND ${MAY_BE_MADE}`

/**
 * Withdrawals that have to be sent, oldest first: those that no transaction may still mint.
 * @param after the id after which to begin; those up to it come last
 */
export async function dueMints(db: Queryable, limit: number, after: string): Promise<DueMint[]> {
  const found = await db.query<DueMint>(
    `SELECT ${COLUMNS}, s.ends_at_ms AS "endsAtMs", (SELECT count(*) FROM ${OWN_TRANSACTIONS}) AS attempts
     FROM lock_withdrawals w JOIN lock_series s ON s.id = w.series_id
     WHERE w.state = 'sending' AND NOT EXISTS (SELECT FROM ${LIVE_TRANSACTIONS})
     ORDER BY w.id > $2 DESC, w.id LIMIT $1`,
    [limit, after],
  )
  return found.rows
}

/**
 * Locks a withdrawal that is to be sent or given back: two controls that both believe that it is their turn do one of both.
 * @returns false when it has ended, or a transaction may mint it
 */
export async function claimDueMint(client: Client, id: string): Promise<boolean> {
  locking(client, 'lockWithdrawals', () => [id])
  await client.query('SELECT FROM lock_withdrawals WHERE id = $1 FOR NO KEY UPDATE', [id])
  const due = await client.query(
    `SELECT FROM lock_withdrawals w WHERE w.id = $1 AND w.state = 'sending'
       AND NOT EXISTS (SELECT FROM ${LIVE_TRANSACTIONS})`,
    [id],
  )
  return due.rowCount === 1
}

/** The transactions of a withdrawal that were given up, because their nonce was used. */
export async function displacedMints(db: Queryable, id: string): Promise<number[]> {
  const found = await db.query<{ id: number }>(
    `SELECT t.id FROM lock_withdrawals w, ${OWN_TRANSACTIONS} AND t.state = 'displaced' AND w.id = $1`,
    [id],
  )
  return found.rows.map((row) => row.id)
}

/** Changes the state of a withdrawal when it is one of `from`. */
export async function moveLockWithdrawal(
  client: Queryable,
  id: string,
  from: readonly LockWithdrawalState[],
  to: LockWithdrawalState,
): Promise<void> {
  locking(client, 'lockWithdrawals', () => [id])
  await client.query('UPDATE lock_withdrawals SET state = $3 WHERE id = $1 AND state = ANY ($2::text[])', [
    id,
    [...from],
    to,
  ])
}

/** How many withdrawals of tokens of an account have this id or a later one. */
export async function countLockWithdrawals(client: Queryable, accountId: string, id: string): Promise<number> {
  return countOf(client, `SELECT count(*) FROM lock_withdrawals WHERE account_id = $1 AND id >= $2`, [accountId, id])
}
