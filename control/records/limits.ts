import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { MarketplaceLimits } from '../products/marketplace/limits.ts'
import type { TransfersLimits } from '../products/transfers/limits.ts'

/** The limits of receipts, statements and the archive. */
export const RECORDS_LIMITS = {
  /** How long a read of a receipt waits while its request is under way, in milliseconds. */
  receiptWaitMs: 2_000,
  /** Timeout for asking the proxies about a receipt that is not booked, in milliseconds. */
  receiptAskMs: 300,
  /** Such reads without a key that run or wait concurrently in one control. */
  receiptPublicAsksMax: 4,
  /** Movements on a page of a statement. */
  statementPageMax: 1_000,
  /** Rows that are read for a page. */
  statementRowsReadMax: 20_000,
  /** Receipts that are read at a time when a month is archived. */
  archivePageMax: 1_000,
  /** Interval of the checks whether an hour has ended or an export is left to be written, in milliseconds. */
  exportMs: 60_000,
  /** Receipts in a file of an export. */
  exportReceiptsMax: 20_000,
  /** Timeout for storing a file of an export, in milliseconds. */
  exportTimeoutMs: 60_000,
  /** Bytes of the answer of the server that stores it. */
  exportAnswerBytesMax: 65_536,
  /** How long a month has to be over before it may be archived, in milliseconds; longer than any request can take. */
  archiveAgeMinMs: 259_200_000,
  /** How long archiving a month may block other transactions, in milliseconds, and the pause before a retry. */
  archiveLockMs: 500,
  /** The most attempts at archiving a month. */
  archiveLockTries: 60,
} as const

export type RecordsLimits = LimitsOf<typeof RECORDS_LIMITS> & MarketplaceLimits & TransfersLimits
