import { HOUSE, PAYMENTS_IN } from '../book/ledger/accounts.ts'
import { postTransfers } from '../book/ledger/postTransfers.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { Purpose } from './outbox.ts'

/** Suffix of the ref for a second transaction of a payment or deposit, one that another sender submitted. */
export const OTHER_SUFFIX = ':other'

/** The id of the payment or deposit that a transaction is for. */
export const idOfRef = (ref: string): string => (ref.endsWith(OTHER_SUFFIX) ? ref.slice(0, -OTHER_SUFFIX.length) : ref)

/** Money that was received on the chain and credited. */
export interface Credited {
  readonly purpose: Extract<Purpose, 'payment' | 'deposit'>
  readonly id: string
  readonly units: number
  /** Kinds of the transfers by which the house bears its loss, and has it back. */
  readonly lost: string
  readonly found: string
}

/**
 * Books whether credited money is on the chain. When the chain took its block back and none of its transactions can make
 * the transfer now, the house bears the loss; when one of them makes it after all, the loss is reversed. Money that may
 * still arrive is not lost. The caller's transaction has to hold the lock of its row.
 */
export async function followChain(client: Client, { purpose, id, units, lost, found }: Credited): Promise<void> {
  const states = await client.query<{ is_mined: boolean; is_open: boolean }>(
    `SELECT coalesce(bool_or(state = 'mined'), false) AS is_mined, coalesce(bool_or(state = 'pending'), false) AS is_open
     FROM chain_transactions WHERE purpose = $1 AND ref IN ($2, $2 || '${OTHER_SUFFIX}')`,
    [purpose, id],
  )
  const booked = await client.query<{ losses: number; finds: number }>(
    `SELECT count(*) FILTER (WHERE kind = $2) AS losses, count(*) FILTER (WHERE kind = $3) AS finds
     FROM transfers WHERE ref BETWEEN $1 AND $1 || ':~' AND kind IN ($2, $3)`,
    [id, lost, found],
  )
  const { is_mined: isMined = false, is_open: isOpen = false } = states.rows[0] ?? {}
  const { losses = 0, finds = 0 } = booked.rows[0] ?? {}
  const isLost = losses > finds
  const ref = finds === 0 ? id : `${id}:${finds}`
  if (isMined && isLost) await postTransfers(client, [{ kind: found, ref, debit: PAYMENTS_IN, credit: HOUSE, units }])
  if (!isMined && !isOpen && !isLost) {
    await postTransfers(client, [{ kind: lost, ref, debit: HOUSE, credit: PAYMENTS_IN, units }])
  }
}
