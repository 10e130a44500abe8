import { isPayer } from '../../../contract/payments/payerAccount.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { making } from '../../runtime/db/lockOrder.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { coinAccount } from './accounts.ts'

/**
 * Opens the coin account of a new customer account and notifies admission (its event 1), inside the caller's transaction.
 * Opening it again changes nothing. Balances of payers of single requests are kept in US dollars.
 * @returns whether it was new
 */
export async function openAccount(client: Client, accountId: string): Promise<boolean> {
  const opened = await client.query(
    `INSERT INTO ledger_accounts (id, kind, owner, currency) VALUES ($1, 'coin', $2, $3) ON CONFLICT DO NOTHING`,
    [coinAccount(accountId), accountId, isPayer(accountId) ? 'usd' : 'coin'],
  )
  if (opened.rowCount === 0) return false
  await client.query('INSERT INTO admission_accounts (account_id, shard, seq) VALUES ($1, $2, 1)', [
    accountId,
    shardOf(accountId),
  ])
  making(client, 'ledgerAccounts', () => [coinAccount(accountId)])
  making(client, 'accounts', () => [accountId])
  await client.query('INSERT INTO admission_events (account_id, seq) VALUES ($1, 1)', [accountId])
  return true
}
