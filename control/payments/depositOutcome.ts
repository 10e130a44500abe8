import type { OutcomeHandler } from '../chain/recorder.ts'
import type { Client } from '../db/pool.ts'
import { HOUSE, PAYMENTS_IN } from '../ledger/accounts.ts'
import { creditCoin } from '../ledger/creditCoin.ts'
import { postTransfers } from '../ledger/postTransfers.ts'
import { DEPOSIT } from './depositScanner.ts'
import { OTHER_SUFFIX } from './paymentOutcome.ts'

/** Kind of the transfer by which the house bears a deposit that the chain took back and did not make again. */
export const DEPOSIT_LOST = 'deposit_lost'

const depositId = (ref: string): string => (ref.endsWith(OTHER_SUFFIX) ? ref.slice(0, -OTHER_SUFFIX.length) : ref)

/** Books what became of the transactions of gasless deposits. */
export const depositOutcome: OutcomeHandler = {
  mined: (client, ref) => credit(client, depositId(ref)),
  reverted: (client, ref) => bearLoss(client, depositId(ref)),
}

/** Credits a deposit to its account, once. */
async function credit(client: Client, id: string): Promise<void> {
  const credited = await client.query<{ account_id: string; units: number }>(
    `UPDATE deposits SET state = 'credited' WHERE id = $1 AND state IN ('settling', 'failed')
     RETURNING account_id, units`,
    [id],
  )
  const row = credited.rows[0]
  if (row === undefined) return
  await creditCoin(client, { accountId: row.account_id, units: row.units, ref: id, kind: DEPOSIT })
}

/** What was credited may be spent, so a deposit that the chain took back and refuses now is borne by the house. */
async function bearLoss(client: Client, id: string): Promise<void> {
  const found = await client.query<{ units: number }>(
    `SELECT units FROM deposits WHERE id = $1 AND state = 'credited'`,
    [id],
  )
  const row = found.rows[0]
  if (row === undefined) return
  await postTransfers(client, [{ kind: DEPOSIT_LOST, ref: id, debit: HOUSE, credit: PAYMENTS_IN, units: row.units }])
}
