import { textArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { LOCK_OPERATOR, lockUnearnedAccount } from './accounts.ts'

/**
 * The coin that tokens were sold for and that is not earned, by ledger account; nanos, of all accounts together. Locked until
 * the end of the transaction.
 */
export async function lockUnearned(db: Queryable, series: readonly string[]): Promise<Map<string, bigint>> {
  locking(db, 'ledgerAccounts', () => series.map(lockUnearnedAccount))
  const found = await db.query<{ id: string; balance: string }>({
    name: 'settlement_unearned',
    text: `SELECT id, balance::text AS balance FROM ledger_accounts
           WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
    values: [textArray(series.map(lockUnearnedAccount))],
  })
  return new Map(found.rows.map((row) => [row.id, BigInt(row.balance)]))
}

/**
 * Tokens that customers hold, offer or have on the chain, by series, in units at the locked price: all but the stock of the
 * operator and its offers.
 */
export async function soldUnits(db: Queryable, series: readonly string[]): Promise<Map<string, bigint>> {
  const found = await db.query<{ id: string; units: string }>({
    name: 'settlement_sold',
    text: `SELECT s.series_id AS id, (-i.balance - coalesce(stock.balance, 0)
             - s.offered_micros * (s.locked_price_units / 1000000))::text AS units
           FROM lock_stock s JOIN ledger_accounts i ON i.id = 'lock_issued:' || s.series_id
           LEFT JOIN ledger_accounts stock ON stock.id = 'lock:' || s.series_id || ':${LOCK_OPERATOR}'
           WHERE s.series_id = ANY ($1::text[])`,
    values: [textArray(series)],
  })
  return new Map(found.rows.map((row) => [row.id, BigInt(row.units)]))
}
