import { textArray } from '../../runtime/db/arrays.ts'
import { making } from '../../runtime/db/lockOrder.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** A ledger account that belongs to nobody but the gateway. */
export interface SystemAccount {
  readonly id: string
  readonly currency: 'usd' | 'coin'
  readonly mayGoNegative: boolean
}

/** Opens ledger accounts of the gateway, in the order of their ids; those that are open stay as they are. */
export async function openSystemAccounts(db: Queryable, accounts: readonly SystemAccount[]): Promise<void> {
  const opened = await db.query<{ id: string }>(
    `INSERT INTO ledger_accounts (id, kind, currency, may_go_negative)
     SELECT id, 'system', currency, negative FROM jsonb_to_recordset($1) AS a (id text, currency text, negative boolean)
     ORDER BY id ON CONFLICT DO NOTHING RETURNING id`,
    [JSON.stringify(accounts.map(({ id, currency, mayGoNegative }) => ({ id, currency, negative: mayGoNegative })))],
  )
  making(db, 'ledgerAccounts', () => opened.rows.map(({ id }) => id))
}

/** As `openSystemAccounts`, for the credits of payers. */
export async function openPayerCredits(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query(
    `INSERT INTO ledger_accounts (id, kind) SELECT id, 'payer_credit' FROM unnest($1::text[]) AS id ORDER BY id
     ON CONFLICT DO NOTHING`,
    [textArray(ids)],
  )
}
