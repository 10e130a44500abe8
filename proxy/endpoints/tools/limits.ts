import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { RunLimits } from '../run/limits.ts'

/** The limits of priced tools. */
export const TOOL_LIMITS = {
  /** The answer of a priced tool, in bytes. */
  toolAnswerBytesMax: 2_097_152,
  /** Timeout of looking up the address of a priced tool, in milliseconds. */
  toolAddressTimeoutMs: 2_000,
} as const

export type ToolLimits = LimitsOf<typeof TOOL_LIMITS> & RunLimits
