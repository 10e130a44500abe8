/** Names the layout of the lines below; a changed layout gets another one. */
const LAYOUT = 'sluice-receipt/1'

/** The public facts of a receipt that the usage log commits to. Nothing here names the customer. */
export interface LoggedReceipt {
  requestId: string
  /** 'ok', 'partial', 'failed', 'cut' or 'orphaned'. */
  status: string
  model: string
  endpoint: string
  sheetVersion: number
  chargeUnits: number
  inputTokens: number
  cachedInputTokens: number
  cacheWrite5mTokens: number
  cacheWrite1hTokens: number
  outputTokens: number
  reasoningTokens: number
  quantity: number
  unit: string
  /** 'none', 'reported' or 'estimated'. */
  usageSource: string
  heldAtMs: number
}

/**
 * The text whose RFC 6962 leaf hash is in the usage log: seventeen lines, each ended by a line feed, in UTF-8. They are the
 * layout's name, then the fields of LoggedReceipt in the order above, integers in decimal.
 * Values contain no control characters: settlement refuses those that do.
 */
export function leafText(receipt: LoggedReceipt): string {
  return (
    `${LAYOUT}\n${receipt.requestId}\n${receipt.status}\n${receipt.model}\n${receipt.endpoint}\n` +
    `${receipt.sheetVersion}\n${receipt.chargeUnits}\n${receipt.inputTokens}\n${receipt.cachedInputTokens}\n` +
    `${receipt.cacheWrite5mTokens}\n${receipt.cacheWrite1hTokens}\n${receipt.outputTokens}\n` +
    `${receipt.reasoningTokens}\n${receipt.quantity}\n${receipt.unit}\n${receipt.usageSource}\n` +
    `${receipt.heldAtMs}\n`
  )
}
