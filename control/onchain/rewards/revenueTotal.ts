import type { Queryable } from '../../runtime/db/pool.ts'

/** Kinds of the transfers that set shares of the revenue aside. */
export const REWARD_SHARE = 'reward_share'
export const VAULT_SHARE = 'vault_share'

const TOTAL = `
  SELECT (
    (SELECT sum(balance) FROM ledger_accounts WHERE id = 'revenue' OR starts_with(id, 'revenue:'))
    + (SELECT coalesce(sum(reward_units + vault_units), 0) FROM revenue_periods)
    - (SELECT coalesce(sum(CASE WHEN account = credit THEN units ELSE -units END), 0)
       FROM transfers CROSS JOIN LATERAL (VALUES (debit), (credit)) AS side (account)
       WHERE at >= $1 AND kind NOT IN ('${REWARD_SHARE}', '${VAULT_SHARE}')
         AND (account = 'revenue' OR starts_with(account, 'revenue:')))
  )::text AS total`

/**
 * What the accounts of revenue had taken in by a moment, less what was paid out of them, and as if no share had been set aside.
 * What was under way at that moment and was committed later belongs to it too, so it is asked for a while after it.
 * @returns units; may be negative
 */
export async function revenueTotal(db: Queryable, until: Date): Promise<bigint> {
  const found = await db.query<{ total: string }>(TOTAL, [until])
  return BigInt(found.rows[0]?.total ?? '0')
}
