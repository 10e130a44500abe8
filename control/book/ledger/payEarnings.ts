import type { Client } from '../../runtime/db/pool.ts'
import { coinAccount } from './accounts.ts'
import { appendAdmissionEvent, lockAccounts } from './appendAdmissionEvent.ts'
import { postTransfers, type Transfer } from './postTransfers.ts'

/** The earnings of an account by receipts of other accounts. */
export interface Earning {
  readonly accountId: string
  readonly units: number
  /** The coin that is paid for it, in integers of 1e-9 coin. */
  readonly nanos: number
}

/**
 * Pays earnings in coin; those of no unit are left out.
 * @param from where each is taken from, by its own transfer
 * @throws Error where one of the transfers was posted before
 */
export async function payEarnings<Earned extends Earning>(
  client: Client,
  earned: readonly Earned[],
  from: (earning: Earned) => Pick<Transfer, 'kind' | 'ref' | 'debit'>,
): Promise<void> {
  const paid = earned.filter(({ units }) => units > 0)
  if (paid.length === 0) return
  await lockAccounts(
    client,
    paid.map(({ accountId }) => accountId),
  )
  for (const { accountId, nanos } of paid) {
    if (nanos > 0) await appendAdmissionEvent(client, { accountId, coinDelta: nanos })
  }
  const transfers = paid.map((earning) => ({
    ...from(earning),
    credit: coinAccount(earning.accountId),
    units: earning.units,
    coinNanos: earning.nanos,
  }))
  // Last, because others wait for the row that it is taken from; in one statement, which locks in a fixed order.
  const posted = await postTransfers(client, transfers)
  if (posted === transfers.length) return
  throw new Error(
    `of the transfers ${transfers.map(({ kind, ref }) => `${kind} ${ref}`).join(', ')} one was posted before`,
  )
}
