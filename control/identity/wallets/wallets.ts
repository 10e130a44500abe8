import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { Address } from '../../../contract/payments/address.ts'
import { lockAccount } from '../../book/ledger/accountRow.ts'
import { type Actor, recordActivity } from '../../runtime/activity/activity.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import { msColumns } from '../../runtime/db/columns.ts'
import { countOf } from '../../runtime/db/count.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'

/** A wallet that signs in to an account. */
export interface Wallet {
  /** Lower case. */
  readonly address: string
  readonly linkedAtMs: number
}

/** The wallets of an account, in the order in which they were linked. */
export async function listWallets(db: Queryable, accountId: string): Promise<Wallet[]> {
  const found = await db.query<Wallet>(
    `SELECT address, ${msColumns('linked_at')} FROM wallets WHERE account_id = $1 ORDER BY linked_at, address`,
    [accountId],
  )
  return found.rows
}

/** The account that a wallet is linked to. @param address lower case */
export async function accountOfWallet(db: Queryable, address: string): Promise<string | undefined> {
  const found = await db.query<{ account_id: string }>('SELECT account_id FROM wallets WHERE address = $1', [address])
  return found.rows[0]?.account_id
}

/** The accounts that wallets are linked to, by address, without unlinked wallets. @param addresses lower case */
export async function accountsOfWallets(db: Queryable, addresses: readonly Address[]): Promise<Map<Address, string>> {
  const found = await db.query<{ address: Address; account_id: string }>(
    'SELECT address, account_id FROM wallets WHERE address = ANY ($1::text[])',
    [textArray(addresses)],
  )
  return new Map(found.rows.map((row) => [row.address, row.account_id]))
}

/** The account's row is locked, so that its wallets change one after the other. */
async function countWallets(client: Client, accountId: string): Promise<number> {
  await lockAccount(client, accountId)
  return countOf(client, 'SELECT count(*) FROM wallets WHERE account_id = $1', [accountId])
}

/**
 * Links a wallet to an account, inside the caller's transaction.
 * @param address lower case
 * @returns false when it was linked to this account before
 * @throws GatewayError address_in_use when it is linked to another one, invalid_request beyond
 *   limits.walletsPerAccountMax
 */
export async function linkWallet(
  client: Client,
  actor: Actor,
  accountId: string,
  address: string,
  limits: IdentityLimits,
): Promise<boolean> {
  const count = await countWallets(client, accountId)
  const linked = await client.query(
    'INSERT INTO wallets (address, account_id) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [address, accountId],
  )
  if (linked.rowCount === 0) {
    const owner = await client.query<{ account_id: string }>('SELECT account_id FROM wallets WHERE address = $1', [
      address,
    ])
    if (owner.rows[0]?.account_id === accountId) return false
    throw new GatewayError('address_in_use')
  }
  if (count >= limits.walletsPerAccountMax) {
    throw invalidRequest(`An account has at most ${limits.walletsPerAccountMax} wallets; unlink one first.`)
  }
  await recordActivity(client, actor, [{ accountId, type: 'wallet.linked', target: address }])
  return true
}

/**
 * Unlinks a wallet from its account, inside the caller's transaction; sessions of that wallet lose access to the account.
 * @param keepLast refuses the only wallet, so that an owner does not lock the account
 * @throws GatewayError wallet_not_found, permission_denied for someone else's, invalid_request for the last one
 */
export async function unlinkWallet(
  client: Client,
  actor: Actor,
  accountId: string,
  address: string,
  keepLast: boolean,
): Promise<void> {
  const count = await countWallets(client, accountId)
  const found = await client.query<{ account_id: string }>('SELECT account_id FROM wallets WHERE address = $1', [
    address,
  ])
  const owner = found.rows[0]?.account_id
  if (owner === undefined) throw new GatewayError('wallet_not_found')
  if (owner !== accountId) throw new GatewayError('permission_denied')
  if (keepLast && count === 1) {
    throw invalidRequest('This is the only wallet of the account; link another one before you unlink it.', 'address')
  }
  await client.query('DELETE FROM wallets WHERE address = $1 AND account_id = $2', [address, accountId])
  await recordActivity(client, actor, [{ accountId, type: 'wallet.unlinked', target: address }])
}
