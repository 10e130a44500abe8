import { formatUsd } from '../../../contract/money/units.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { coinAccount, PAYMENTS_IN } from './accounts.ts'
import { appendAdmissionEvent, lockAccounts } from './appendAdmissionEvent.ts'
import { postTransfers } from './postTransfers.ts'
import { ReusedRefError } from './reusedRefError.ts'

export interface CoinCredit {
  readonly accountId: string
  /** Positive. */
  readonly units: number
  /** Names the payment; the same one is credited to an account once. */
  readonly ref: string
  /** Kind of the transfer; 'payment' when absent. */
  readonly kind?: string
  /** The ledger account that the coin comes from; payments_in when absent. */
  readonly from?: string
}

/**
 * Credits coin to a customer account and tells admission of it, inside the caller's transaction.
 * @returns false when this payment was credited before
 * @throws ReusedRefError when it was credited before with another amount; Error when the account is unknown
 */
export async function creditCoin(client: Client, credit: CoinCredit): Promise<boolean> {
  const transfer = {
    kind: credit.kind ?? 'payment',
    ref: credit.ref,
    debit: credit.from ?? PAYMENTS_IN,
    credit: coinAccount(credit.accountId),
    units: credit.units,
  }
  if (!Number.isSafeInteger(credit.units) || credit.units <= 0) {
    throw new RangeError(`a credit has to be a positive number of units, not ${credit.units}`)
  }
  await lockAccounts(client, [credit.accountId])
  if ((await postTransfers(client, [transfer])) === 0) {
    const booked = await client.query<{ units: number }>(
      'SELECT units FROM transfers WHERE kind = $1 AND ref = $2 AND debit = $3 AND credit = $4',
      [transfer.kind, transfer.ref, transfer.debit, transfer.credit],
    )
    const before = booked.rows[0]?.units ?? 0
    if (before === credit.units) return false
    const what = `coin for ${formatUsd(before)} USD then, for ${formatUsd(credit.units)} USD now`
    throw new ReusedRefError(credit.ref, credit.accountId, what)
  }
  await appendAdmissionEvent(client, { accountId: credit.accountId, coinDeltaUnits: credit.units })
  return true
}
