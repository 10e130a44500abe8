import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { PaymentLimits } from '../../payments/limits.ts'
import type { ChatLimits } from '../chat/limits.ts'

/** The limits of the Model Context Protocol. */
export const MCP_LIMITS = {
  /** The time that a paid call of the Model Context Protocol needs at least to be settled and served, in milliseconds. */
  mcpPaidTimeMinMs: 15_000,
  /** A chat answer that becomes the result of a call of the Model Context Protocol, in bytes. */
  mcpAnswerBytesMax: 524_288,
} as const

export type McpLimits = LimitsOf<typeof MCP_LIMITS> & ChatLimits & PaymentLimits
