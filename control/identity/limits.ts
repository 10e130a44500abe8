import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { ApiLimits } from '../api/limits.ts'

/** The limits of accounts, keys, wallets and sessions. */
export const IDENTITY_LIMITS = {
  /** Interval of the polls for changed keys, in milliseconds. */
  keyChangePollMs: 250,
  /** Interval of the notes in Redis that all of them are announced, in milliseconds; several of them fit into keyRecordTrustMs. */
  keyChangeNoteMs: 1_000,
  /** The most of one CPU that checking signatures may take, in percent. */
  signatureCpuPercent: 25,
  /** Signatures that wait to be checked once there has been overload for signatureOverloadMs. */
  signaturesWaitingMax: 4,
  /** How long checks may be waited for without a break before some are refused, in milliseconds. */
  signatureOverloadMs: 2_000,
} as const

export type IdentityLimits = LimitsOf<typeof IDENTITY_LIMITS> & ApiLimits
