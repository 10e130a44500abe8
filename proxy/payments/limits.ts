import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of paying per request. */
export const PAYMENT_LIMITS = {
  /** Threads that verify signatures. */
  verifyThreadsMax: 2,
  /** After how long without work such a thread ends, in milliseconds. */
  verifyThreadIdleMs: 60_000,
  /** Signatures that a thread verifies in one task. */
  verifyBatchMax: 64,
  /** Signatures that wait for a thread. */
  verifyPendingMax: 4_096,
  /** How long a signature may wait, in milliseconds. */
  verifyTimeoutMs: 10_000,
  /** After how long the terms of payments are read again, in milliseconds. */
  paymentTermsMs: 60_000,
  /** The header that carries a payment, in bytes. */
  paymentHeaderBytesMax: 16_384,
} as const

export type PaymentLimits = LimitsOf<typeof PAYMENT_LIMITS> & ContractLimits
