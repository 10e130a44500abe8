import type { Queryable } from '../../runtime/db/pool.ts'

/** Kinds of the transfers that set shares of the revenue aside. */
export const REWARD_SHARE = 'reward_share'
export const VAULT_SHARE = 'vault_share'

/**
 * SQL of the net revenue of the revenue accounts up to a moment, as if no share had been set aside: their balances now, less
 * all movements since.
 * @param until SQL of the moment
 */
export const revenueTotalSql = (until: string): string => `(
  (SELECT sum(balance) FROM ledger_accounts WHERE id = 'revenue' OR starts_with(id, 'revenue:'))
  + (SELECT coalesce(sum(reward_units + vault_units), 0) FROM revenue_periods)
  - (SELECT coalesce(sum(CASE WHEN account = credit THEN units ELSE -units END), 0)
     FROM transfers CROSS JOIN LATERAL (VALUES (debit), (credit)) AS side (account)
     WHERE at >= ${until} AND kind NOT IN ('${REWARD_SHARE}', '${VAULT_SHARE}')
       AND (account = 'revenue' OR starts_with(account, 'revenue:'))))`

/**
 * The net revenue of the revenue accounts up to a moment. Transactions that were open then and committed later count too, so
 * callers wait a while after the moment before they ask.
 * @returns units; may be negative
 */
export async function revenueTotal(db: Queryable, until: Date): Promise<bigint> {
  const found = await db.query<{ total: string }>(`SELECT ${revenueTotalSql('$1')}::text AS total`, [until])
  return BigInt(found.rows[0]?.total ?? '0')
}
