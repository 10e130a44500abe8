import type { OutcomeHandler } from '../chain/recorder.ts'
import type { Client } from '../db/pool.ts'
import { HOUSE, PAYMENTS_IN } from '../ledger/accounts.ts'
import { creditCoin } from '../ledger/creditCoin.ts'
import { openAccount } from '../ledger/openAccount.ts'
import { postTransfers } from '../ledger/postTransfers.ts'

/** Kinds of the transfers that payments are booked by; `ref` is the payment's id. */
export const PAID = 'pay_in'
export const LOST = 'pay_in_lost'

/** A payment's second transaction, which somebody else sent, has this behind the payment's id. */
export const OTHER_SUFFIX = ':other'

const paymentId = (ref: string): string => (ref.endsWith(OTHER_SUFFIX) ? ref.slice(0, -OTHER_SUFFIX.length) : ref)

/** Books what became of the transactions of payments. */
export const paymentOutcome: OutcomeHandler = {
  mined: (client, ref) => bookPaid(client, paymentId(ref)),
  reverted: (client, ref) => bookLost(client, paymentId(ref)),
}

/** Credits a payment to its payer's account, once; the request may be served from here on. */
async function bookPaid(client: Client, id: string): Promise<void> {
  const paid = await client.query<{ account_id: string; units: number }>(
    `UPDATE payments SET state = 'paid' WHERE id = $1 AND state IN ('settling', 'failed') RETURNING account_id, units`,
    [id],
  )
  const row = paid.rows[0]
  if (row === undefined) return
  await openAccount(client, row.account_id)
  await creditCoin(client, { accountId: row.account_id, units: row.units, ref: id, kind: PAID })
}

/**
 * A payment that was credited and whose block the chain took back has not got in again: its payer has been served or
 * refunded with money that did not come, and the house bears it.
 */
async function bookLost(client: Client, id: string): Promise<void> {
  const found = await client.query<{ units: number }>(
    `SELECT units FROM payments WHERE id = $1 AND state IN ('paid', 'closed')`,
    [id],
  )
  const row = found.rows[0]
  if (row === undefined) return
  await postTransfers(client, [{ kind: LOST, ref: id, debit: HOUSE, credit: PAYMENTS_IN, units: row.units }])
}
