import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { ReserveLimits } from '../reserve/limits.ts'

/** The limits of settlement batches. */
export const SETTLEMENTS_LIMITS = {
  /** Intervals that a settlement batch waits for receipts of enough accounts, at most. */
  settlementWaitIntervals: 24,
  /** Interval of the checks whether a settlement batch is due, in milliseconds. */
  settlementCheckMs: 2_000,
  /** Receipts whose charges are added up together. */
  settlementSumReceipts: 10_000,
  /** Batches, from the last one back, that the chain may have taken back. */
  settlementsReorgMax: 100,
  /** How long a batch rests that its contract does not take, in milliseconds. */
  settlementRefusedMs: 60_000,
} as const

export type SettlementsLimits = LimitsOf<typeof SETTLEMENTS_LIMITS> & ReserveLimits
