import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { ApiLimits } from '../../api/limits.ts'

/** The limits of links and referrals. */
export const TRANSFERS_LIMITS = {
  /** Interval of the polls for links that have expired, in milliseconds. */
  linkExpiryMs: 2_000,
  /** Interval of the payments of referrers, in milliseconds. */
  referralPayMs: 60_000,
  /** Entries of the usage log that are counted for referrers in one step. */
  referralBatchMax: 5_000,
} as const

export type TransfersLimits = LimitsOf<typeof TRANSFERS_LIMITS> & ApiLimits
