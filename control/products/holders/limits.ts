import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { IdentityLimits } from '../../identity/limits.ts'
import type { ReserveLimits } from '../reserve/limits.ts'

/** The limits of shares of the revenue. */
export const HOLDERS_LIMITS = {
  /** How often a share of the revenue to holders or the vault that failed in its block is sent. */
  payoutAttemptsMax: 5,
  /** Interval of the checks whether a share of the revenue is due, or waits to be sent, in milliseconds. */
  revenueCheckMs: 2_000,
  /** How long after its end a period is closed, so that all that was being booked then is in the book, in milliseconds. */
  revenueCloseDelayMs: 60_000,
  /** How long a call rests that its contract does not take, in milliseconds. */
  revenueRefusedMs: 60_000,
  /** Holders that share a reward. */
  rewardHoldersMax: 200_000,
  /** Hashes of the tree of rewards that are computed before yielding to the event loop. */
  rewardHashesPerTurn: 500,
  /** Rewards that the answer about a holder lists. */
  rewardClaimsShown: 100,
  /** Deposits of revenue that the answer about the vault lists. */
  vaultDepositsShown: 100,
} as const

export type HoldersLimits = LimitsOf<typeof HOLDERS_LIMITS> & IdentityLimits & ReserveLimits
