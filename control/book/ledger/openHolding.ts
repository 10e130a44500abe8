import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { holdingAccount, LOCK_OPERATOR } from './accounts.ts'

/** Opens the ledger account of tokens of a series, unless it is open. The series has to be locked. */
export async function openHolding(client: Client, seriesId: string, accountId: string): Promise<void> {
  const isOperator = accountId === LOCK_OPERATOR
  await client.query(`INSERT INTO ledger_accounts (id, kind, owner) VALUES ($1, 'lock', $2) ON CONFLICT DO NOTHING`, [
    holdingAccount(seriesId, accountId),
    isOperator ? null : accountId,
  ])
  if (isOperator) return
  await client.query('INSERT INTO lock_holdings (series_id, account_id) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    seriesId,
    accountId,
  ])
}

/**
 * How many series an account holds or bids for, beside one. They are listed in its admission state, which every request
 * reads.
 */
export async function countOtherSeries(db: Queryable, accountId: string, seriesId: string): Promise<number> {
  const counted = await db.query<{ count: number }>(
    `SELECT count(*) FROM (
       SELECT series_id FROM lock_holdings WHERE account_id = $1 AND NOT is_dropped
       UNION SELECT series_id FROM lock_orders WHERE account_id = $1 AND status = 'open'
     ) AS known WHERE series_id <> $2`,
    [accountId, seriesId],
  )
  return counted.rows[0]?.count ?? 0
}
