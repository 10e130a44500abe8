import { coinBoughtFor } from '../../../contract/money/coin.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { Stretch } from '../usagelog/stretches.ts'
import { coinAccount } from './accounts.ts'
import { appendAdmissionEvent, lockAccounts } from './appendAdmissionEvent.ts'
import { CoinRoom } from './coinRoom.ts'
import { postTransfers, type Transfer } from './postTransfers.ts'

/** An amount due to an account by receipts of others within a stretch. */
export interface Due {
  readonly id: string
  readonly accountId: string
  /** The part of a unit that is left over from before. */
  readonly rest: number
}

/** The payment for it. */
export type Earned<D extends Due> = D & {
  readonly stretch: Stretch
  readonly units: number
  /** The coin that is paid for it, in integers of 1e-9 coin. */
  readonly nanos: number
  readonly newRest: number
}

/** A way to earn by receipts. */
export interface EarningRule<D extends Due> {
  /** SQL of the amounts due within a stretch: its log, its first position and its end. */
  readonly due: string
  /** The amount due, in parts of a unit, of which `whole` are one. */
  readonly partsOf: (due: D) => bigint
  readonly whole: bigint
  readonly note: (client: Client, earned: readonly Earned<D>[], stretch: Stretch) => Promise<void>
  /** Where the pay is taken from, by its own transfer. */
  readonly from: (earned: Earned<D>) => Pick<Transfer, 'kind' | 'ref' | 'debit'>
}

/** Pays the amounts due by the receipts of some stretches of the usage logs, inside the caller's transaction. */
export async function payStretches<D extends Due>(
  client: Client,
  stretches: readonly Stretch[],
  coinUsdUnits: number,
  rule: EarningRule<D>,
): Promise<void> {
  const earned: Earned<D>[] = []
  const room = new CoinRoom()
  for (const stretch of stretches) {
    const { rows } = await client.query<D>(rule.due, [stretch.log, stretch.from, stretch.to])
    await room.read(
      client,
      rows.map((due) => due.accountId),
    )
    const own = rows.map((due) => {
      const parts = rule.partsOf(due) + BigInt(due.rest)
      const units = Number(parts / rule.whole)
      // The fraction of a nano is dropped, and what the account is too full for: one full account must not keep others from
      // their pay.
      const nanos = room.take(due.accountId, coinBoughtFor(units, coinUsdUnits))
      return { ...due, stretch, units, nanos, newRest: Number(parts % rule.whole) }
    })
    if (own.length === 0) continue
    // Before the next stretch is read, which continues with the remainder of this one.
    await rule.note(client, own, stretch)
    earned.push(...own)
  }
  await payEarnings(client, earned, rule.from)
}

/**
 * Pays earnings in coin; those of no unit are left out.
 * @throws Error where one of the transfers was posted before
 */
async function payEarnings<D extends Due>(
  client: Client,
  earned: readonly Earned<D>[],
  from: EarningRule<D>['from'],
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
