import { MAX_UNITS } from '../../../contract/money/units.ts'
import type { Address } from '../../../contract/payments/address.ts'
import { coinAccount } from '../../book/ledger/accounts.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { DueReward } from './dueRewards.ts'

/**
 * Leaves out the accounts that cannot hold the rewards of their wallets beside the coin that they have; those wallets are paid
 * by the root.
 * @param accounts by wallet
 */
export async function withRoom(
  db: Queryable,
  accounts: ReadonlyMap<Address, string>,
  rewards: readonly DueReward[],
): Promise<ReadonlyMap<Address, string>> {
  if (accounts.size === 0) return accounts
  const nanos = await balances(db, [...new Set(accounts.values())])
  for (const { address, dueNanos } of rewards) {
    const account = accounts.get(address)
    if (account !== undefined) nanos.set(account, (nanos.get(account) ?? 0n) + dueNanos)
  }
  return new Map([...accounts].filter(([, account]) => (nanos.get(account) ?? 0n) <= BigInt(MAX_UNITS)))
}

async function balances(db: Queryable, accountIds: readonly string[]): Promise<Map<string, bigint>> {
  const ids = accountIds.map(coinAccount)
  const found = await db.query<{ id: string; balance: string }>(
    'SELECT id, balance::text AS balance FROM ledger_accounts WHERE id = ANY ($1::text[])',
    [textArray(ids)],
  )
  const byId = new Map(found.rows.map(({ id, balance }) => [id, BigInt(balance)]))
  return new Map(accountIds.map((account, at) => [account, byId.get(ids[at] ?? '') ?? 0n]))
}
