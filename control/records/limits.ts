/** The limits of receipts, statements and the archive. */
export const RECORDS_LIMITS = {
  /** How long a question for a receipt waits while its request is under way, in milliseconds. */
  receiptWaitMs: 2_000,
  /** How long such a question waits for a proxy process that knows of the request, in milliseconds. */
  receiptAskMs: 300,
  /** Such questions without a key that are asked, or wait, at once in one control. */
  receiptPublicAsksMax: 4,
  /** Movements on a page of a statement. */
  statementPageMax: 1_000,
  /** Rows that are read for such a page. */
  statementRowsReadMax: 20_000,
  /** Receipts that are read at a time when a month is archived. */
  archivePageMax: 1_000,
  /** How long a month has to be over before it may be archived, in milliseconds; longer than any request can take. */
  archiveAgeMinMs: 259_200_000,
  /** How long archiving a month may block other transactions, in milliseconds, and the pause before a retry. */
  archiveLockMs: 500,
  /** The most attempts at archiving a month. */
  archiveLockTries: 60,
} as const
