/** The limits of the account API's frame. */
export const API_LIMITS = {
  /** Callers that a rate limiter or a queue with fair turns remembers. */
  rateLimiterEntriesMax: 10_000,
  /** The time between two removals of expired data, in milliseconds. */
  housekeepingMs: 60_000,
  /** How often a change is tried whose transaction is in the way of another one. */
  apiWriteAttemptsMax: 3,
  /** Rows that one removal takes. */
  housekeepingBatchMax: 5_000,
  /** Interval at which the answers to public reads in Redis are renewed, in milliseconds. */
  keptAnswersMs: 30_000,
  /** How long such an answer stays there without control, in milliseconds. */
  keptAnswerTtlMs: 86_400_000,
} as const
