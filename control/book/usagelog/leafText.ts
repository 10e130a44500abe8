import type { ReceiptRate, ReceiptTier } from '../../../contract/money/receipt.ts'

/** The layout of receipts that are booked now; older ones stay provable in their own layout. */
export const LEAF_LAYOUT = 2
/** That of receipts which have burnt tokens of a compute lock. */
export const LOCK_LEAF_LAYOUT = 3

/** The public facts of a receipt that the usage log commits to. Nothing here names the customer. */
export interface LoggedReceipt {
  /** 1, 2 or 3. */
  readonly leafLayout: number
  readonly requestId: string
  /** 'ok', 'partial', 'failed', 'cut' or 'orphaned'. */
  readonly status: string
  readonly model: string
  readonly endpoint: string
  readonly sheetVersion: number
  readonly chargeUnits: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWrite5mTokens: number
  readonly cacheWrite1hTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly quantity: number
  readonly unit: string
  /** 'none', 'reported' or 'estimated'. */
  readonly usageSource: string
  readonly heldAtMs: number
  // The fields below are not in layout 1.
  /** '' where it is not known. */
  readonly rate: ReceiptRate
  readonly tier: ReceiptTier
  /** WxH of images that are priced by size, or ''. */
  readonly size: string
  readonly holdUnits: number
  readonly clamped: boolean
  readonly streamed: boolean
  readonly durationMs: number
  readonly errorCode: string
  // The fields below are in layout 3 alone: the series of the tokens that were burnt, and units of them at the locked price.
  readonly lockSeries: string
  readonly lockUnits: number
}

/**
 * The text whose RFC 6962 leaf hash is in the usage log: lines in UTF-8, each ended by a line feed. They are the layout's
 * name, then the fields of LoggedReceipt in the order above; integers in decimal, booleans as `true` and `false`.
 * Values contain no control characters: settlement refuses those that do.
 * @throws RangeError for an unknown layout
 */
export function leafText(receipt: LoggedReceipt): string {
  if (receipt.leafLayout === 1) return `sluice-receipt/1\n${firstLines(receipt)}`
  if (receipt.leafLayout === LEAF_LAYOUT) return `sluice-receipt/2\n${firstLines(receipt)}${nextLines(receipt)}`
  if (receipt.leafLayout !== LOCK_LEAF_LAYOUT) throw new RangeError(`leaves have no layout ${receipt.leafLayout}`)
  const { lockSeries, lockUnits } = receipt
  return `sluice-receipt/3\n${firstLines(receipt)}${nextLines(receipt)}${lockSeries}\n${lockUnits}\n`
}

/** SQL of leafText of a row of `receipts`, for reads of so many rows that the database has to build the text. */
export const LEAF_TEXT_SQL: string = leafTextSql()

function leafTextSql(): string {
  const first = `request_id, status, model, endpoint, sheet_version, charge_units, input_tokens, cached_input_tokens,
    cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, quantity, unit, usage_source, held_at_ms`
  const second = 'rate, tier, size, hold_units, clamped::text, streamed::text, duration_ms, error_code'
  return `CASE leaf_layout
    WHEN 1 THEN concat_ws(E'\\n', 'sluice-receipt/1', ${first}, '')
    WHEN 2 THEN concat_ws(E'\\n', 'sluice-receipt/2', ${first}, ${second}, '')
    WHEN 3 THEN concat_ws(E'\\n', 'sluice-receipt/3', ${first}, ${second}, lock_series, lock_units, '')
    ELSE '' END`
}

/** The eight lines that follow in all layouts but the first. */
function nextLines(receipt: LoggedReceipt): string {
  return (
    `${receipt.rate}\n${receipt.tier}\n${receipt.size}\n${receipt.holdUnits}\n` +
    `${receipt.clamped}\n${receipt.streamed}\n${receipt.durationMs}\n${receipt.errorCode}\n`
  )
}

/** The sixteen lines that all layouts have. */
function firstLines(receipt: LoggedReceipt): string {
  return (
    `${receipt.requestId}\n${receipt.status}\n${receipt.model}\n${receipt.endpoint}\n` +
    `${receipt.sheetVersion}\n${receipt.chargeUnits}\n${receipt.inputTokens}\n${receipt.cachedInputTokens}\n` +
    `${receipt.cacheWrite5mTokens}\n${receipt.cacheWrite1hTokens}\n${receipt.outputTokens}\n` +
    `${receipt.reasoningTokens}\n${receipt.quantity}\n${receipt.unit}\n${receipt.usageSource}\n` +
    `${receipt.heldAtMs}\n`
  )
}
