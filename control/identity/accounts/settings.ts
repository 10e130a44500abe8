import { renameAccount } from '../../book/ledger/accountRow.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** Settings of an account for all of its keys. */
export interface AccountSettings {
  /** The opt-in to providers and tools that keep data, where neither a request nor its key decides; null: not decided. */
  readonly allowRetention: boolean | null
}

/** The settings of an account. */
export async function settingsOf(db: Queryable, accountId: string): Promise<AccountSettings> {
  const found = await db.query<{ allow_retention: boolean | null }>({
    name: 'account_settings',
    text: 'SELECT allow_retention FROM account_settings WHERE account_id = $1',
    values: [accountId],
  })
  return { allowRetention: found.rows[0]?.allow_retention ?? null }
}

/** The owner's changes of an account; absent fields stay unchanged. */
export interface AccountChanges {
  readonly name?: string
  readonly allowRetention?: boolean | null
  /** See keyTransfers.ts. */
  readonly transferCapUnits?: number
}

/**
 * Changes an account, inside the caller's transaction. After the commit the caller notifies the proxies with
 * `announceKeyChanges`.
 */
export async function changeAccount(client: Queryable, accountId: string, changes: AccountChanges): Promise<void> {
  const { name, allowRetention, transferCapUnits } = changes
  if (name !== undefined) await renameAccount(client, accountId, name)
  if (allowRetention === undefined && transferCapUnits === undefined) return
  await client.query('INSERT INTO account_settings (account_id) VALUES ($1) ON CONFLICT DO NOTHING', [accountId])
  if (allowRetention !== undefined) {
    await client.query('UPDATE account_settings SET allow_retention = $2 WHERE account_id = $1', [
      accountId,
      allowRetention,
    ])
  }
  if (transferCapUnits !== undefined) {
    await client.query('UPDATE account_settings SET transfer_cap_units = $2 WHERE account_id = $1', [
      accountId,
      transferCapUnits,
    ])
  }
}
