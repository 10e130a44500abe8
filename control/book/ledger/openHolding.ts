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

/** Takes a holding of an ended series of which nothing is left out of the admission state for good. */
export async function dropHolding(db: Queryable, seriesId: string, accountId: string): Promise<void> {
  await db.query('UPDATE lock_holdings SET is_dropped = true WHERE series_id = $1 AND account_id = $2', [
    seriesId,
    accountId,
  ])
}
