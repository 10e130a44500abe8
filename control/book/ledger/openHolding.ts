import { textArray } from '../../runtime/db/arrays.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { holdingAccount, LOCK_OPERATOR } from './accounts.ts'

/** Opens the ledger account of tokens of a series, unless it is open. The series has to be locked. */
export function openHolding(client: Client, seriesId: string, accountId: string): Promise<void> {
  return openHoldings(client, seriesId, [accountId])
}

/** As `openHolding`, for many accounts. */
export async function openHoldings(client: Client, seriesId: string, accountIds: readonly string[]): Promise<void> {
  const ledgerAccounts = accountIds.map((accountId) => holdingAccount(seriesId, accountId))
  await client.query(
    `INSERT INTO ledger_accounts (id, kind, owner)
     SELECT id, 'lock', nullif(owner, '${LOCK_OPERATOR}') FROM unnest($1::text[], $2::text[]) AS holding (id, owner)
     ON CONFLICT DO NOTHING`,
    [textArray(ledgerAccounts), textArray(accountIds)],
  )
  await client.query(
    'INSERT INTO lock_holdings (series_id, account_id) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING',
    [seriesId, textArray(accountIds.filter((accountId) => accountId !== LOCK_OPERATOR))],
  )
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
