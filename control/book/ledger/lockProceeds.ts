import { textArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { LOCK_OPERATOR, lockUnearnedAccount } from './accounts.ts'

/**
 * The coin that tokens were sold for and that is not earned, by ledger account; nanos, of all accounts together. Locked until
 * the end of the transaction.
 */
export async function lockUnearned(db: Queryable, series: readonly string[]): Promise<Map<string, bigint>> {
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
    text: `SELECT s.id, (-i.balance - coalesce(stock.balance, 0) - coalesce(
             (SELECT sum(o.escrow_micros) FROM lock_orders o WHERE o.series_id = s.id AND o.account_id = '${LOCK_OPERATOR}'
                AND o.status = 'open' AND o.side = 'sell'), 0) * (s.locked_price_units / 1000000))::text AS units
           FROM lock_series s JOIN ledger_accounts i ON i.id = 'lock_issued:' || s.id
           LEFT JOIN ledger_accounts stock ON stock.id = 'lock:' || s.id || ':${LOCK_OPERATOR}'
           WHERE s.id = ANY ($1::text[])`,
    values: [textArray(series)],
  })
  return new Map(found.rows.map((row) => [row.id, BigInt(row.units)]))
}
