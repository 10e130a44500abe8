import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { IdentityLimits } from '../../identity/limits.ts'
import type { ReserveLimits } from '../reserve/limits.ts'

/** The limits of payments, refunds, deposits and withdrawals. */
export const PAYMENTS_LIMITS = {
  /** Payments by transaction of the payer that settle concurrently. */
  payerTransactionsInFlightMax: 64,
  /** Signed authorizations that are checked on the chain concurrently before they settle. */
  paymentChecksMax: 256,
  /** Signatures of contract wallets that are checked on the chain concurrently. */
  contractChecksMax: 16,
  /** Transactions of payers that are checked on the chain concurrently. */
  payerTransactionChecksMax: 32,
  /** Payers that have paid before and whose checks do not count against a network. */
  trustedPayersMax: 10_000,
  /** The time over which refused payments are summed up in one line of the log, in milliseconds. */
  paymentRefusalLogMs: 10_000,
  /** A signed transaction of a payer, in bytes. */
  payerTransactionBytesMax: 4_096,
  /** Interval of the polls for payments whose request has ended, in milliseconds. */
  paymentCloseMs: 250,
  /** Payments per poll at most. */
  paymentCloseMax: 500,
  /** Interval of the polls for refunds to send, in milliseconds. */
  refundCheckMs: 1_000,
  /** Refunds per poll at most. */
  refundBatchMax: 50,
  /** Payments that one refund gives back. */
  refundPaymentsMax: 1_000,
  /** How often a refund that failed in its block is sent. */
  refundAttemptsMax: 5,
  /** How long a refund that its token refuses rests, in milliseconds. */
  refundRefusedMs: 60_000,
  /** Interval of the checks of the deposits by authorization, in milliseconds. */
  depositCheckMs: 1_000,
  /** Deposits per poll at most. */
  depositCheckMax: 50,
  /** The signature of a deposit, in bytes. */
  depositSignatureBytesMax: 2_048,
  /** How often a withdrawal that failed in its block is sent without an operator. */
  withdrawalAttemptsMax: 5,
  /** Interval of the polls for withdrawals to send, in milliseconds. */
  withdrawalCheckMs: 1_000,
  /** Withdrawals per poll at most. */
  withdrawalBatchMax: 50,
} as const

export type PaymentsLimits = LimitsOf<typeof PAYMENTS_LIMITS> & IdentityLimits & ReserveLimits
