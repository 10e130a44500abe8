import { textArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client } from '../../runtime/db/pool.ts'

/**
 * Locks ledger accounts until the transaction ends, in the order that every statement that posts transfers locks its own. A
 * transaction that posts more than once locks all of them first: otherwise it and a settlement could wait for each other in a
 * circle. The customers among them have to be locked with `lockAccounts` before.
 * @param ids unknown ones are left out
 */
export async function lockLedgerAccounts(client: Client, ids: readonly string[]): Promise<void> {
  locking(client, 'ledgerAccounts', () => ids)
  await client.query('SELECT 1 FROM ledger_accounts WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE', [
    textArray(ids),
  ])
}
