import type { Queryable } from '../db/pool.ts'

/** What an account sets for all of its keys. */
export interface AccountSettings {
  /** Whether providers that keep data may serve where neither a request nor its key says so; null: never said. */
  readonly allowRetention: boolean | null
}

/** The settings of an account. */
export async function settingsOf(db: Queryable, accountId: string): Promise<AccountSettings> {
  const found = await db.query<{ allow_retention: boolean }>({
    name: 'account_settings',
    text: 'SELECT allow_retention FROM account_settings WHERE account_id = $1',
    values: [accountId],
  })
  return { allowRetention: found.rows[0]?.allow_retention ?? null }
}

/** What an owner may change of an account; what is absent stays as it is. */
export interface AccountChanges {
  readonly name?: string
  readonly allowRetention?: boolean
}

/**
 * Changes an account, inside the caller's transaction. The caller has the proxies told with `announceKeyChanges` once it
 * is committed.
 */
export async function changeAccount(
  client: Queryable,
  accountId: string,
  { name, allowRetention }: AccountChanges,
): Promise<void> {
  if (name !== undefined) await client.query('UPDATE accounts SET name = $2 WHERE id = $1', [accountId, name])
  if (allowRetention === undefined) return
  await client.query(
    `INSERT INTO account_settings (account_id, allow_retention) VALUES ($1, $2)
     ON CONFLICT (account_id) DO UPDATE SET allow_retention = $2`,
    [accountId, allowRetention],
  )
}
