import { coinDecimal } from '../../../contract/money/coin.ts'
import { isPayer } from '../../../contract/payments/payerAccount.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { coinAccount, PAYMENTS_IN } from './accounts.ts'
import { appendAdmissionEvent, lockAccounts } from './appendAdmissionEvent.ts'
import { postTransfers } from './postTransfers.ts'
import { ReusedRefError } from './reusedRefError.ts'

export interface CoinCredit {
  readonly accountId: string
  /** Integer of 1e-9 coin, positive; of a payer of single requests as many as units. */
  readonly nanos: number
  /** Its worth, or the amount paid for it. */
  readonly units: number
  /** Names the payment; the same one is credited to an account once. */
  readonly ref: string
  /** Kind of the transfer; 'payment' when absent. */
  readonly kind?: string
  /** The ledger account that the coin comes from; payments_in when absent. */
  readonly from?: string
}

/**
 * Credits coin to a customer account and notifies admission, inside the caller's transaction.
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
    coinNanos: credit.nanos,
  }
  if (!Number.isSafeInteger(credit.nanos) || credit.nanos <= 0) {
    throw new RangeError(`a credit has to be a positive number of nanos, not ${credit.nanos}`)
  }
  if (isPayer(credit.accountId) && credit.units !== credit.nanos)
    throw new RangeError('what a payer has is kept in units')
  await lockAccounts(client, [credit.accountId])
  if ((await postTransfers(client, [transfer])) === 0) {
    const booked = await client.query<{ nanos: number }>(
      'SELECT coalesce(coin_nanos, units) AS nanos FROM transfers WHERE kind = $1 AND ref = $2 AND debit = $3 AND credit = $4',
      [transfer.kind, transfer.ref, transfer.debit, transfer.credit],
    )
    const before = booked.rows[0]?.nanos ?? 0
    if (before === credit.nanos) return false
    const what = `${coinDecimal(before)} coin then, ${coinDecimal(credit.nanos)} coin now`
    throw new ReusedRefError(credit.ref, credit.accountId, what)
  }
  await appendAdmissionEvent(client, { accountId: credit.accountId, coinDelta: credit.nanos })
  return true
}
