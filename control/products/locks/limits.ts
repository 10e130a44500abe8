import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { PaymentsLimits } from '../payments/limits.ts'

/** The limits of compute locks and their tokens on the chain. */
export const LOCKS_LIMITS = {
  /** Transactions per withdrawal of compute lock tokens at most; after that the tokens return to the holding. */
  lockMintAttemptsMax: 3,
  /** The gas of one mint, with its margin: about what a wallet without code needs. */
  lockMintGasMax: 200_000,
  /** Pause of the mints after the contract was missing or had another minter, in milliseconds. */
  lockMintRefusedMs: 60_000,
  /** Redemptions of compute lock tokens per poll at most. */
  lockRedemptionBatchMax: 50,
  /** Series of compute locks that are not closed. */
  lockSeriesMax: 500,
  /** Interval of the polls for series of compute locks whose month is over, in milliseconds. */
  lockSeriesCheckMs: 5_000,
} as const

export type LocksLimits = LimitsOf<typeof LOCKS_LIMITS> & PaymentsLimits
