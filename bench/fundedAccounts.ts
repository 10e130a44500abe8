import { newId } from '../contract/wire/ids.ts'
import { creditCoin } from '../control/book/ledger/creditCoin.ts'
import { openAccount } from '../control/book/ledger/openAccount.ts'
import { type Pool, withTransaction } from '../control/runtime/db/pool.ts'

/** Opens accounts with coin that is worth one USD each. @param units of each account @returns their ids */
export async function fundedAccounts(pool: Pool, count: number, units: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const accountId = newId('acct')
    await withTransaction(pool, async (client) => {
      await openAccount(client, accountId)
      await creditCoin(client, { accountId, nanos: units, units, ref: accountId })
    })
    ids.push(accountId)
  }
  return ids
}
