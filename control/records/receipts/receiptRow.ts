import type {
  ReceiptFields,
  ReceiptLock,
  ReceiptLog,
  ReceiptPaid,
  ReceiptTagging,
} from '../../../contract/money/receipt.ts'
import { networkOf } from '../../../contract/payments/address.ts'
import type { ReceiptRow } from '../../book/receipt/generated/receipt.ts'
import { camelColumns } from '../../runtime/db/columns.ts'

/** The payment for a request, as stored in the book. */
export interface PaidRow
  extends Pick<ReceiptPaid, 'units' | 'minUnits' | 'asset' | 'token' | 'amount' | 'payer' | 'agent'> {
  readonly chainId: number
  readonly hash: string | null
  readonly backUnits: number | null
  readonly backAmount: string | null
  readonly creditUsedUnits: number
  readonly creditKeptUnits: number
  readonly creditLeftUnits: number
  readonly refundHash: string | null
}

/** One row for a request that was paid for by itself; $1 is its id. */
export const PAID_QUERY: string = `
  SELECT ${camelColumns(`p.units, p.min_units, p.asset, p.token, c.chain_id, p.payer, t.hash, p.agent, p.back_units,
    p.credit_used_units, p.credit_kept_units, p.credit_left_units`)},
    p.amount::text AS amount, p.back_amount::text AS "backAmount", b.hash AS "refundHash"
  FROM payments p CROSS JOIN chain_identity c
    LEFT JOIN chain_transactions t ON t.purpose = 'payment' AND t.ref IN (p.id, p.id || ':other') AND t.state = 'mined'
    LEFT JOIN refunds f ON f.id = p.refund_id
    LEFT JOIN chain_transactions b ON b.purpose = 'refund' AND b.subject_id = f.id AND b.attempt = f.attempts AND b.state = 'mined'
  WHERE p.id = $1`

export function paidOf(row: PaidRow): ReceiptPaid {
  const { units, minUnits, asset, token, amount, payer, agent, backUnits } = row
  const network = networkOf(row.chainId)
  const paid = { units, minUnits, asset, token, amount, payer, agent, network, transaction: row.hash ?? '' }
  if (backUnits === null) return paid
  const credit = { usedUnits: row.creditUsedUnits, keptUnits: row.creditKeptUnits, leftUnits: row.creditLeftUnits }
  if (backUnits === 0) return { ...paid, credit }
  return {
    ...paid,
    credit,
    back: { units: backUnits, amount: row.backAmount ?? '0', transaction: row.refundHash ?? '' },
  }
}

/** @param coinUsdUnits USD per coin in units, of the sheet that the row names */
export function receiptFields(row: ReceiptRow, coinUsdUnits: number, log: ReceiptLog): ReceiptFields {
  return {
    ...row,
    costUnits: row.chargeUnits,
    coinUsdUnits,
    usage: {
      input: row.inputTokens,
      cachedInput: row.cachedInputTokens,
      cacheWrite5m: row.cacheWrite5mTokens,
      cacheWrite1h: row.cacheWrite1hTokens,
      output: row.outputTokens,
      reasoning: row.reasoningTokens,
    },
    createdMs: row.heldAtMs,
    errorCode: row.errorCode === '' ? null : row.errorCode,
    ...(row.lockUnits > 0 && { lock: lockOf(row) }),
    ...(row.tagsHash !== '' && { tagging: taggingOf(row) }),
    log,
  }
}

function taggingOf({ endUser: user, tags, tagsSalt: salt, tagsHash: hash }: ReceiptRow): ReceiptTagging {
  return { user, tags, salt, hash }
}

function lockOf({ lockSeries: seriesId, lockUnits: units, lockMicros: micros }: ReceiptRow): ReceiptLock {
  return { seriesId, units, micros }
}
