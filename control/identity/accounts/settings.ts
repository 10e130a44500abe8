import { NO_QUOTA, type Quota } from '../../../contract/catalog/quota.ts'
import { renameAccount } from '../../book/ledger/accountRow.ts'
import { camelColumns } from '../../runtime/db/columns.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** Settings of an account for all of its keys, with their limits together. */
export interface AccountSettings extends Quota {
  /** The opt-in to providers and tools that keep data, where neither a request nor its key decides; null: not decided. */
  readonly allowRetention: boolean | null
}

/** The settings of an account. */
export async function settingsOf(db: Queryable, accountId: string): Promise<AccountSettings> {
  const found = await db.query<AccountSettings>({
    name: 'account_settings',
    text: `SELECT ${camelColumns('allow_retention, requests_per_minute, tokens_per_minute, parallel')}
           FROM account_settings WHERE account_id = $1`,
    values: [accountId],
  })
  return found.rows[0] ?? { allowRetention: null, ...NO_QUOTA }
}

/** Changes of an account by its owner or the operator; absent fields stay unchanged, and zero removes a limit. */
export interface AccountChanges extends Partial<Quota> {
  readonly name?: string
  readonly allowRetention?: boolean | null
  /** See keyTransfers.ts. */
  readonly transferCapUnits?: number
}

const COLUMN_OF: Readonly<Record<Exclude<keyof AccountChanges, 'name'>, string>> = {
  allowRetention: 'allow_retention',
  transferCapUnits: 'transfer_cap_units',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
  parallel: 'parallel',
}

/**
 * Changes an account, inside the caller's transaction. After the commit the caller notifies the proxies with
 * `announceKeyChanges`.
 */
export async function changeAccount(client: Queryable, accountId: string, changes: AccountChanges): Promise<void> {
  const { name, ...settings } = changes
  if (name !== undefined) await renameAccount(client, accountId, name)
  const columns: string[] = []
  const values: unknown[] = [accountId]
  for (const [setting, column] of Object.entries(COLUMN_OF)) {
    const value = settings[setting as keyof typeof settings]
    if (value !== undefined) columns.push(`${column} = $${values.push(value)}`)
  }
  if (columns.length === 0) return
  await client.query('INSERT INTO account_settings (account_id) VALUES ($1) ON CONFLICT DO NOTHING', [accountId])
  await client.query(`UPDATE account_settings SET ${columns.join(', ')} WHERE account_id = $1`, values)
}
