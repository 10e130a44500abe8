import type { Client } from '../../runtime/db/pool.ts'

/** Locks an account until the transaction ends, so that changes of it that are made at once come one after the other. */
export async function lockAccount(client: Client, accountId: string): Promise<void> {
  await client.query('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId])
}
