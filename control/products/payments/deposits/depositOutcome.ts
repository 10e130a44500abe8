import { creditCoin } from '../../../book/ledger/creditCoin.ts'
import { followChain, idOfRef } from '../../../chain/chainLoss.ts'
import type { OutcomeHandler } from '../../../chain/recorder.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client } from '../../../runtime/db/pool.ts'
import { DEPOSIT } from './depositScanner.ts'

/** Kinds of the transfers by which the house bears a deposit that the chain took back, and has it back. */
const DEPOSIT_LOST = 'deposit_lost'
const DEPOSIT_FOUND = 'deposit_found'

/** Books the outcomes of the transactions of gasless deposits. */
export const depositOutcome: OutcomeHandler = {
  depth: 'depositConfirmations',
  mined: async (client, ref) => {
    if (!(await credit(client, idOfRef(ref)))) await bearLoss(client, idOfRef(ref))
  },
  unmade: (client, ref) => bearLoss(client, idOfRef(ref)),
}

/** Credits a deposit to its account, once. */
async function credit(client: Client, id: string): Promise<boolean> {
  locking(client, 'deposits', () => [id])
  const credited = await client.query<{ account_id: string; coin_nanos: number; units: number }>(
    `UPDATE deposits SET state = 'credited' WHERE id = $1 AND state IN ('settling', 'failed')
     RETURNING account_id, coin_nanos, units`,
    [id],
  )
  const row = credited.rows[0]
  if (row === undefined) return false
  const { account_id: accountId, coin_nanos: nanos, units } = row
  await creditCoin(client, { accountId, nanos, units, ref: id, kind: DEPOSIT })
  return true
}

/** Credited coin may already be spent, so the house bears a deposit that a reorganization of the chain removed. */
async function bearLoss(client: Client, id: string): Promise<void> {
  locking(client, 'deposits', () => [id])
  const found = await client.query<{ units: number }>(
    `SELECT units FROM deposits WHERE id = $1 AND state = 'credited' FOR UPDATE`,
    [id],
  )
  const row = found.rows[0]
  if (row === undefined) return
  await followChain(client, { purpose: 'deposit', id, units: row.units, lost: DEPOSIT_LOST, found: DEPOSIT_FOUND })
}
