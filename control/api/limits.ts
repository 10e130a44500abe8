import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { AdmissionLimits } from '../admission/limits.ts'
import type { ChainLimits } from '../chain/limits.ts'

/** The limits of the account API's frame. */
export const API_LIMITS = {
  /** Callers that a rate limiter or a queue with fair turns remembers. */
  rateLimiterEntriesMax: 10_000,
  /** How often a change is tried whose transaction is in the way of another one. */
  apiWriteAttemptsMax: 3,
  /** Interval at which the answers to public reads in Redis are renewed, in milliseconds. */
  keptAnswersMs: 30_000,
  /** How long such an answer stays there without control, in milliseconds. */
  keptAnswerTtlMs: 86_400_000,
} as const

export type ApiLimits = LimitsOf<typeof API_LIMITS> & ChainLimits & AdmissionLimits
