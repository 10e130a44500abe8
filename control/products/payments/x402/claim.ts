import type { Hex } from 'viem'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { payerAccountId } from '../../../../contract/payments/payerAccount.ts'
import type { Fees } from '../../../chain/fees.ts'
import { type StoredTransaction, storeForeign, storeTransaction } from '../../../chain/outbox.ts'
import { settlementCall } from '../../../chain/settlementCall.ts'
import type { Signer } from '../../../chain/signer.ts'
import { type Client, type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import type { PaymentOrder } from './paymentOrder.ts'
import { conflictingPayment, type PaymentRow } from './paymentRow.ts'

/** How a payment gets to the chain: sent by the gateway, or by another sender. */
export type Sending =
  | {
      readonly by: 'gateway'
      readonly signer: Signer
      readonly chainId: number
      readonly gas: bigint
      readonly fees: Fees
    }
  | { readonly by: 'other'; readonly hash: Hex; readonly raw: Hex | undefined; readonly transfers?: number }

/**
 * Claims a payment and stores the transaction that makes it, atomically: a second payment with the same authorization, or
 * during the settlement of another payment of this payer, is refused and nothing is sent.
 * @returns the transaction, which may be sent now
 * @throws GatewayError as `conflictError`
 */
export async function claimPayment(pool: Pool, order: PaymentOrder, sending: Sending): Promise<StoredTransaction> {
  const stored = await withTransaction(pool, async (client) => {
    if (!(await insertPayment(client, order))) return undefined
    return storeSending(client, order, sending)
  })
  if (stored !== undefined) return stored
  const other = await conflictingPayment(pool, order.replayKey, order.payer)
  // The payment that settled a moment ago has just been decided.
  throw other === undefined ? inFlight() : conflictError(other, order.replayKey)
}

async function insertPayment(client: Client, order: PaymentOrder): Promise<boolean> {
  const inserted = await client.query(
    `INSERT INTO payments (id, replay_key, protocol, payer, account_id, asset, token, amount, units, hold_units, owner,
       model, endpoint, sheet_version, streamed, challenge_id, agent, serve_by_ms, min_units)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) ON CONFLICT DO NOTHING`,
    [
      order.requestId,
      order.replayKey,
      order.protocol,
      order.payer,
      payerAccountId(order.payer),
      order.asset,
      order.transfer.token,
      order.transfer.amount.toString(),
      order.units,
      order.holdUnits,
      order.owner,
      order.model,
      order.endpoint,
      order.sheetVersion,
      order.streamed,
      order.challengeId,
      order.agent,
      order.serveByMs,
      order.minUnits,
    ],
  )
  return inserted.rowCount === 1
}

async function storeSending(client: Client, order: PaymentOrder, sending: Sending): Promise<StoredTransaction> {
  const { requestId: ref, transfer } = order
  if (sending.by === 'other') {
    const id = await storeForeign(client, { purpose: 'payment', ref, transfer }, sending)
    return { id, hash: sending.hash, raw: sending.raw ?? '0x' }
  }
  if (order.payment === undefined) throw new Error('a payment without a signature cannot be sent')
  const { signer, chainId, gas, fees } = sending
  const call = settlementCall(order.payment)
  return storeTransaction(client, signer, { purpose: 'payment', ref, chainId, ...call, gas, fees, transfer })
}

/** Rejects a payment early if it conflicts with the book, before the chain is asked. @throws GatewayError */
export async function refuseConflict(pool: Pool, order: PaymentOrder): Promise<void> {
  const other = await conflictingPayment(pool, order.replayKey, order.payer)
  if (other !== undefined) throw conflictError(other, order.replayKey)
}

function inFlight(): GatewayError {
  return new GatewayError('payment_in_flight', { retryAfterSeconds: 2 })
}

/** The reason why a payment conflicts with a payment in the book. */
function conflictError(other: PaymentRow, replayKey: string): GatewayError {
  if (other.state === 'settling') return inFlight()
  if (other.replayKey !== replayKey) return inFlight()
  if (other.state === 'failed') return new GatewayError('settlement_failed')
  if (other.isVoided) return new GatewayError('payment_already_resolved')
  return new GatewayError('authorization_used')
}
