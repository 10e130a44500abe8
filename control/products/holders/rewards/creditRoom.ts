import type { Address } from '../../../../contract/payments/address.ts'
import { CoinRoom } from '../../../book/ledger/coinRoom.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { DueReward } from './dueRewards.ts'

/**
 * Leaves out the wallets whose accounts cannot hold their rewards in addition to the coin that they have; those are paid by the root.
 * @param accounts by wallet
 */
export async function withRoom(
  db: Queryable,
  accounts: ReadonlyMap<Address, string>,
  rewards: readonly DueReward[],
): Promise<ReadonlyMap<Address, string>> {
  const room = new CoinRoom()
  await room.read(db, [...accounts.values()])
  const roomy = new Map<Address, string>()
  for (const { address, dueNanos } of rewards) {
    const accountId = accounts.get(address)
    if (accountId === undefined || !room.fits(accountId, dueNanos)) continue
    room.take(accountId, Number(dueNanos))
    roomy.set(address, accountId)
  }
  return roomy
}
