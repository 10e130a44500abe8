import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { ChatLimits } from '../chat/limits.ts'

/** The limits of requests for a count of tokens. */
export const MESSAGE_LIMITS = {
  /** Requests for a count of tokens that are open in a process. */
  countsOpenMax: 256,
  /** Requests for a count of tokens that are open for one key. */
  countsPerKeyMax: 16,
} as const

export type MessageLimits = LimitsOf<typeof MESSAGE_LIMITS> & ChatLimits
