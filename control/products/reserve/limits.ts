import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { ApiLimits } from '../../api/limits.ts'

/** The limits of the reserve and its attestations. */
export const RESERVE_LIMITS = {
  /** Interval of the checks whether the reserve is to be read, in milliseconds. */
  reserveCheckMs: 1_000,
  /** Interval of the readings of the reserve, in milliseconds. */
  reserveReadMs: 60_000,
  /** The same while less is held than owed, in milliseconds. */
  reserveRecheckMs: 5_000,
  /** Readings in a row that find less held than owed, from which on withdrawals pause. */
  reserveShortReadings: 2,
  /** The age of the last reading above which withdrawals pause, in milliseconds. */
  reserveReadingMaxMs: 300_000,
  /** Interval of the checks whether an attestation is due, in milliseconds. */
  attestationCheckMs: 5_000,
  /** Accounts that are read together for an attestation. */
  attestationRowsMax: 500,
  /** The time that an attestation waits for a moment without a transfer, in milliseconds. */
  attestationLockMs: 2_000,
  /** How long the command line waits for an attestation that it asks for, in milliseconds. */
  attestationWaitMs: 60_000,
  /** Attestations, from the last one back, whose trees are kept. */
  attestationTreesKept: 7,
} as const

export type ReserveLimits = LimitsOf<typeof RESERVE_LIMITS> & ApiLimits
