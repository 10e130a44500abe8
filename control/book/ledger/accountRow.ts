import { locking, making } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'

/** Locks an account until the transaction ends, so that concurrent changes of it come one after the other. */
export async function lockAccount(client: Client, accountId: string): Promise<void> {
  locking(client, 'accountRows', () => [accountId])
  await client.query('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId])
}

/** Writes the row of a new account of a customer or an agent; `openAccount` opens it in the ledger. */
export async function insertAccount(client: Client, accountId: string, name: string): Promise<void> {
  await client.query('INSERT INTO accounts (id, name) VALUES ($1, $2)', [accountId, name])
  making(client, 'accountRows', () => [accountId])
}

export async function renameAccount(client: Queryable, accountId: string, name: string): Promise<void> {
  await client.query('UPDATE accounts SET name = $2 WHERE id = $1', [accountId, name])
}
