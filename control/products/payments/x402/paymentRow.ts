import type { Address } from '../../../../contract/payments/address.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import { camelColumns } from '../../../runtime/db/columns.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { PaymentOrder } from './paymentOrder.ts'

export type PaymentState = 'settling' | 'paid' | 'failed' | 'closed'

/** A request that was or is being paid for. Amounts: `amount` in atomic units of the token, the others in units. */
export interface PaymentRow
  extends Pick<
      PaymentOrder,
      'replayKey' | 'protocol' | 'payer' | 'units' | 'holdUnits' | 'owner' | 'model' | 'endpoint'
    >,
    Pick<PaymentOrder, 'sheetVersion' | 'streamed' | 'serveByMs'> {
  readonly id: string
  readonly accountId: string
  readonly token: Address
  readonly amount: bigint
  readonly state: PaymentState
  readonly held: boolean
  /** Nothing was served, and the payment is refunded in full. */
  readonly isVoided: boolean
}

type Row = Omit<PaymentRow, 'amount'> & { readonly amount: string }

const COLUMNS = `${camelColumns(`p.id, p.replay_key, p.protocol, p.payer, p.account_id, p.token, p.units, p.hold_units, p.state,
  p.owner, p.model, p.endpoint, p.sheet_version, p.streamed, p.serve_by_ms, p.held`)}, p.amount::text AS amount,
  p.back_now AS "isVoided"`

const toPayment = (row: Row): PaymentRow => ({ ...row, amount: BigInt(row.amount) })

export async function paymentOf(db: Queryable, id: string): Promise<PaymentRow | undefined> {
  const found = await db.query<Row>(`SELECT ${COLUMNS} FROM payments p WHERE p.id = $1`, [id])
  return found.rows[0] && toPayment(found.rows[0])
}

/** The payment that conflicts with a new one: it used the same authorization, or else is a payment of this payer that settles. */
export async function conflictingPayment(
  db: Queryable,
  replayKey: string,
  payer: Address,
): Promise<PaymentRow | undefined> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM payments p WHERE p.replay_key = $1 OR (p.payer = $2 AND p.state = 'settling')
     ORDER BY p.replay_key = $1 DESC LIMIT 1`,
    [replayKey, payer],
  )
  return found.rows[0] && toPayment(found.rows[0])
}

/** Payments that were paid and have no receipt yet, oldest first. */
export async function unservedPayments(db: Queryable, limit: number): Promise<PaymentRow[]> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM payments p
     WHERE p.state = 'paid' AND NOT EXISTS (SELECT FROM receipts r WHERE r.request_id = p.id) ORDER BY p.id LIMIT $1`,
    [limit],
  )
  return found.rows.map(toPayment)
}

/** Payments whose own transaction can no longer make the transfer, oldest first. */
export async function unmovedPayments(db: Queryable, limit: number): Promise<PaymentRow[]> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM payments p
     WHERE p.state = 'settling' AND EXISTS (SELECT FROM chain_transactions t WHERE t.purpose = 'payment' AND t.ref = p.id)
       AND NOT EXISTS (SELECT FROM chain_transactions t WHERE t.purpose = 'payment' AND t.ref IN (p.id, p.id || ':other')
                       AND t.state IN ('pending', 'mined', 'stuck'))
     ORDER BY p.id LIMIT $1`,
    [limit],
  )
  return found.rows.map(toPayment)
}

/** Records that holds were taken for requests. */
export async function markHeld(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('UPDATE payments SET held = true WHERE id = ANY ($1::text[])', [textArray(ids)])
}
