import type {
  ReceiptFields,
  ReceiptLock,
  ReceiptLog,
  ReceiptPaid,
  ReceiptRate,
  ReceiptTier,
  ReceiptUsageSource,
} from '../../../contract/money/receipt.ts'
import type { ReceiptStatus } from '../../../contract/money/receiptStatus.ts'
import { networkOf } from '../../../contract/payments/address.ts'
import { leafText } from '../../book/usagelog/leafText.ts'

/** A receipt as stored in the book. */
export interface ReceiptRow {
  readonly request_id: string
  readonly log: number
  readonly position: number
  readonly key_id: string
  readonly model: string
  readonly endpoint: string
  readonly sheet_version: number
  readonly status: ReceiptStatus
  readonly error_code: string
  readonly streamed: boolean
  readonly hold_units: number
  readonly charge_units: number
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly cache_write_5m_tokens: number
  readonly cache_write_1h_tokens: number
  readonly output_tokens: number
  readonly reasoning_tokens: number
  readonly quantity: number
  readonly unit: string
  readonly usage_source: ReceiptUsageSource
  readonly clamped: boolean
  readonly held_at_ms: number
  readonly duration_ms: number
  readonly rate: ReceiptRate
  readonly tier: ReceiptTier
  readonly size: string
  readonly attestation: string
  readonly leaf_layout: number
  readonly lock_series: string
  readonly lock_units: number
  readonly lock_micros: number
}

/** The payment for a request, as stored in the book. */
export interface PaidRow {
  readonly units: number
  readonly min_units: number
  readonly asset: string
  readonly token: string
  readonly amount: string
  readonly chain_id: number
  readonly payer: string
  readonly hash: string | null
  readonly agent: string
  readonly back_units: number | null
  readonly back_amount: string | null
  readonly credit_used_units: number
  readonly credit_kept_units: number
  readonly credit_left_units: number
  readonly refund_hash: string | null
}

/** One row for a request that was paid for by itself; $1 is its id. */
export const PAID_QUERY = `
  SELECT p.units, p.min_units, p.asset, p.token, p.amount::text AS amount, c.chain_id, p.payer, t.hash, p.agent, p.back_units,
    p.back_amount::text AS back_amount, p.credit_used_units, p.credit_kept_units, p.credit_left_units,
    b.hash AS refund_hash
  FROM payments p CROSS JOIN chain_identity c
    LEFT JOIN chain_transactions t ON t.purpose = 'payment' AND t.ref IN (p.id, p.id || ':other') AND t.state = 'mined'
    LEFT JOIN refunds f ON f.id = p.refund_id
    LEFT JOIN chain_transactions b ON b.purpose = 'refund' AND b.ref = f.id || '#' || f.attempts AND b.state = 'mined'
  WHERE p.id = $1`

export function paidOf(row: PaidRow): ReceiptPaid {
  const { units, asset, token, amount, payer, agent } = row
  const paid = {
    units,
    minUnits: row.min_units,
    asset,
    token,
    amount,
    payer,
    agent,
    network: networkOf(row.chain_id),
    transaction: row.hash ?? '',
  }
  if (row.back_units === null) return paid
  const credit = {
    usedUnits: row.credit_used_units,
    keptUnits: row.credit_kept_units,
    leftUnits: row.credit_left_units,
  }
  if (row.back_units === 0) return { ...paid, credit }
  const back = { units: row.back_units, amount: row.back_amount ?? '0', transaction: row.refund_hash ?? '' }
  return { ...paid, credit, back }
}

export const RECEIPT_COLUMNS = [
  'request_id',
  'log',
  'position',
  'key_id',
  'model',
  'endpoint',
  'sheet_version',
  'status',
  'error_code',
  'streamed',
  'hold_units',
  'charge_units',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
  'quantity',
  'unit',
  'usage_source',
  'clamped',
  'held_at_ms',
  'duration_ms',
  'rate',
  'tier',
  'size',
  'attestation',
  'leaf_layout',
  'lock_series',
  'lock_units',
  'lock_micros',
].join(', ')

/** @param coinUsdUnits USD per coin in units, of the sheet that the row names */
export function receiptFields(row: ReceiptRow, coinUsdUnits: number, log: ReceiptLog): ReceiptFields {
  return {
    requestId: row.request_id,
    status: row.status,
    model: row.model,
    endpoint: row.endpoint,
    sheetVersion: row.sheet_version,
    rate: row.rate,
    tier: row.tier,
    costUnits: row.charge_units,
    holdUnits: row.hold_units,
    coinUsdUnits,
    usage: {
      input: row.input_tokens,
      cachedInput: row.cached_input_tokens,
      cacheWrite5m: row.cache_write_5m_tokens,
      cacheWrite1h: row.cache_write_1h_tokens,
      output: row.output_tokens,
      reasoning: row.reasoning_tokens,
    },
    quantity: row.quantity,
    unit: row.unit,
    size: row.size,
    attestation: row.attestation,
    usageSource: row.usage_source,
    clamped: row.clamped,
    streamed: row.streamed,
    createdMs: row.held_at_ms,
    durationMs: row.duration_ms,
    errorCode: row.error_code === '' ? null : row.error_code,
    ...(row.lock_units > 0 && { lock: lockOf(row) }),
    log,
  }
}

function lockOf({ lock_series: seriesId, lock_units: units, lock_micros: micros }: ReceiptRow): ReceiptLock {
  return { seriesId, units, micros }
}

/** The text whose hash is this receipt's leaf in the usage log. */
export function logEntry(row: ReceiptRow): string {
  return leafText({
    leafLayout: row.leaf_layout,
    requestId: row.request_id,
    status: row.status,
    model: row.model,
    endpoint: row.endpoint,
    sheetVersion: row.sheet_version,
    chargeUnits: row.charge_units,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWrite5mTokens: row.cache_write_5m_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    quantity: row.quantity,
    unit: row.unit,
    usageSource: row.usage_source,
    heldAtMs: row.held_at_ms,
    rate: row.rate,
    tier: row.tier,
    size: row.size,
    holdUnits: row.hold_units,
    clamped: row.clamped,
    streamed: row.streamed,
    durationMs: row.duration_ms,
    errorCode: row.error_code,
    lockSeries: row.lock_series,
    lockUnits: row.lock_units,
  })
}
