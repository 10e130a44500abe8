import { creditCoin } from '../../../book/ledger/creditCoin.ts'
import { openAccount } from '../../../book/ledger/openAccount.ts'
import { followChain, idOfRef } from '../../../chain/chainLoss.ts'
import type { OutcomeHandler } from '../../../chain/recorder.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client } from '../../../runtime/db/pool.ts'

/** Kinds of the transfers that book payments; `ref` begins with the payment's id. */
export const PAID = 'pay_in'
export const LOST = 'pay_in_lost'
const FOUND = 'pay_in_found'

/** Books the outcomes of the transactions of payments. */
export const paymentOutcome: OutcomeHandler = {
  depth: 'confirmations',
  mined: async (client, ref) => {
    if (!(await bookPaid(client, idOfRef(ref)))) await bookLoss(client, idOfRef(ref))
  },
  unmade: (client, ref) => bookLoss(client, idOfRef(ref)),
}

/** Credits a payment to its payer's account, once; the request may be served from here on. */
async function bookPaid(client: Client, id: string): Promise<boolean> {
  locking(client, 'payments', () => [id])
  const paid = await client.query<{ account_id: string; units: number }>(
    `UPDATE payments SET state = 'paid' WHERE id = $1 AND state IN ('settling', 'failed') RETURNING account_id, units`,
    [id],
  )
  const row = paid.rows[0]
  if (row === undefined) return false
  await openAccount(client, row.account_id)
  const { account_id: accountId, units } = row
  await creditCoin(client, { accountId, nanos: units, units, ref: id, kind: PAID })
  return true
}

/** The payer of a credited payment has been served or refunded, so the house bears it when the money does not come. */
async function bookLoss(client: Client, id: string): Promise<void> {
  locking(client, 'payments', () => [id])
  const found = await client.query<{ units: number }>(
    `SELECT units FROM payments WHERE id = $1 AND state IN ('paid', 'closed') FOR UPDATE`,
    [id],
  )
  const row = found.rows[0]
  if (row === undefined) return
  await followChain(client, { purpose: 'payment', id, units: row.units, lost: LOST, found: FOUND })
}
