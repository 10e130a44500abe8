import type { Queryable } from '../../runtime/db/pool.ts'

/** Kinds of the transfers that set shares of the revenue aside. */
export const REWARD_SHARE = 'reward_share'
export const VAULT_SHARE = 'vault_share'

/**
 * SQL of what the accounts of revenue had taken in by a moment, less what was paid out of them, and as if no share had been set
 * aside: what they have now without what came since.
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
 * What the accounts of revenue had taken in by a moment. What was under way then and was committed later belongs to it too, so
 * it is asked for a while after it.
 * @returns units; may be negative
 */
export async function revenueTotal(db: Queryable, until: Date): Promise<bigint> {
  const found = await db.query<{ total: string }>(`SELECT ${revenueTotalSql('$1')}::text AS total`, [until])
  return BigInt(found.rows[0]?.total ?? '0')
}
