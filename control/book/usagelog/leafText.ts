/** Names the layout of the lines below; a changed layout gets another one. */
const LAYOUT = 'sluice-receipt/1'

/** The public facts of a receipt that the usage log commits to. Nothing here names the customer. */
export interface LoggedReceipt {
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
