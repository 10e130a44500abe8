import type { ContractLimits, LimitsOf } from '../../../contract/limits/limits.ts'

/** The limits of counting tokens, in worker threads of each process. */
export const TOKEN_LIMITS = {
  /** Threads that count. */
  countThreadsMax: 1,
  /** Counts that wait for a thread. */
  countQueueMax: 32,
  /** How long a count may wait for a thread, in milliseconds. */
  countTimeoutMs: 10_000,
  /** How long a thread may count one text, in milliseconds; the rest is extrapolated. */
  countWorkMs: 2_000,
  /** Characters of a longer text that are counted, spread over it. */
  countCharactersMax: 1_048_576,
  /** How long a charge waits for the count that it is estimated from, in milliseconds. */
  estimateTimeoutMs: 1_000,
  /** After how long without work a counting thread ends, in milliseconds. */
  workerIdleMs: 60_000,
} as const

export type TokenLimits = LimitsOf<typeof TOKEN_LIMITS> & ContractLimits
