import type { Queryable } from '../../runtime/db/pool.ts'
import { coinAccount } from './accounts.ts'

export interface GrantBalance {
  readonly grantId: string
  readonly source: string
  readonly units: number
  readonly expiresAtMs: number
}

/** The balance of an account by the book; it still includes amounts that are held or not booked yet. */
export interface AccountBalance {
  /** Integer of 1e-9 coin. */
  readonly coinNanos: number
  /** Those with units left, soonest expiry first. */
  readonly grants: GrantBalance[]
}

/** @returns undefined when the account was never opened */
export async function balanceOf(client: Queryable, accountId: string): Promise<AccountBalance | undefined> {
  const coin = await client.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [
    coinAccount(accountId),
  ])
  const coinNanos = coin.rows[0]?.balance
  if (coinNanos === undefined) return undefined
  const grants = await client.query<GrantBalance>(
    `SELECT g.id AS "grantId", g.source, l.balance AS units, g.expires_at_ms AS "expiresAtMs"
     FROM grants g JOIN ledger_accounts l ON l.id = 'grant:' || g.id
     WHERE g.account_id = $1 AND l.balance > 0 ORDER BY g.expires_at_ms, g.id`,
    [accountId],
  )
  return { coinNanos, grants: grants.rows }
}
