import { PROVIDER_COST, REVENUE } from '../../../book/ledger/accounts.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** Kinds of the transfers that set shares of the revenue aside. */
export const REWARD_SHARE = 'reward_share'
export const VAULT_SHARE = 'vault_share'

/**
 * SQL of the accounts that net revenue counts: all revenue, and what registered providers are paid. Without the latter, a large
 * holder would earn more in rewards from requests to its own endpoint than the requests cost it.
 */
const counts = (account: string): string =>
  `${account} IN ('${REVENUE}', '${PROVIDER_COST}') OR starts_with(${account}, '${REVENUE}:')`

/**
 * SQL of the net revenue up to a moment, as if no share had been set aside: the balances of its accounts now, less all movements
 * since.
 * @param until SQL of the moment
 */
export const revenueTotalSql = (until: string): string => `(
  (SELECT sum(balance) FROM ledger_accounts WHERE ${counts('id')})
  + (SELECT coalesce(sum(reward_units::numeric + vault_units), 0) FROM revenue_periods)
  - (SELECT coalesce(sum(CASE WHEN account = credit THEN units ELSE -units END), 0)
     FROM transfers CROSS JOIN LATERAL (VALUES (debit), (credit)) AS side (account)
     WHERE at >= ${until} AND kind NOT IN ('${REWARD_SHARE}', '${VAULT_SHARE}')
       AND (${counts('account')})))`

/**
 * The net revenue up to a moment. Transactions that were open then and committed later count too, so
 * callers wait a while after the moment before they ask.
 * @returns units; may be negative
 */
export async function revenueTotal(db: Queryable, until: Date): Promise<bigint> {
  const found = await db.query<{ total: string }>(`SELECT ${revenueTotalSql('$1')}::text AS total`, [until])
  return BigInt(found.rows[0]?.total ?? '0')
}
