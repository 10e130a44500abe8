/** The limits of accounts, keys, wallets, sessions, links, referrals, providers, receipts and statements. */
export const CUSTOMER_LIMITS = {
  /** The time from one look for changed keys to the next, in milliseconds. */
  keyChangePollMs: 250,
  /** How long a question for a receipt waits while its request is under way, in milliseconds. */
  receiptWaitMs: 2_000,
  /** How long such a question waits for a proxy process that knows of the request, in milliseconds. */
  receiptAskMs: 300,
  /** Such questions without a key that are asked, or wait, at once in one control. */
  receiptPublicAsksMax: 4,
  /** The most of one CPU that checking signatures may take, in percent. */
  signatureCpuPercent: 25,
  /** Signatures that wait to be checked once there has been overload for signatureOverloadMs. */
  signaturesWaitingMax: 4,
  /** How long checks may be waited for without a break before some are refused, in milliseconds. */
  signatureOverloadMs: 2_000,
  /** Movements on a page of a statement. */
  statementPageMax: 1_000,
  /** Rows that are read for such a page. */
  statementRowsReadMax: 20_000,
  /** Receipts that are read at once when a month is put away. */
  archivePageMax: 1_000,
  /** How long a month is over before it may be put away, in milliseconds; longer than any request can take. */
  archiveAgeMinMs: 259_200_000,
  /** How long everybody may wait for a month to be taken out, in milliseconds, and how long is waited before it is tried again. */
  archiveLockMs: 500,
  /** How often that is tried. */
  archiveLockTries: 60,
  /** How long a leaderboard that was read is shown, in milliseconds. */
  leaderboardKeptMs: 10_000,
  /** The time from one look for links that have expired to the next, in milliseconds. */
  linkExpiryMs: 2_000,
  /** Series of compute locks that are not closed. */
  lockSeriesMax: 500,
  /** The time from one look for series of compute locks whose month is over to the next, in milliseconds. */
  lockSeriesCheckMs: 5_000,
  /** The time from one payment of referrers to the next, in milliseconds. */
  referralPayMs: 60_000,
  /** Entries of the usage log that are counted for referrers in one step. */
  referralBatchMax: 5_000,
  /** The time from one look whether a basket of the price index is to be made to the next, in milliseconds. */
  indexBasketMs: 60_000,
  /** Days of the base period of the price index. */
  indexBaseDays: 28,
  /** Models of a basket of the price index, those with the most tokens. */
  indexModelsMax: 100,
  /** Price sheets that are read at once for the price index. */
  indexSheetsPage: 20,
  /** The time that a registered provider has for its answer, in milliseconds. */
  providerCheckMs: 1_200,
  /** The answer of a registered provider, in bytes. */
  providerCheckBytesMax: 1_048_576,
  /** Models of a registered provider that are shown. */
  providerModelsMax: 500,
} as const
