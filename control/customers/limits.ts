/** The limits of accounts, keys, wallets, sessions, links, referrals, providers, receipts and statements. */
export const CUSTOMER_LIMITS = {
  /** Interval of the polls for changed keys, in milliseconds. */
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
  /** Receipts that are read at a time when a month is archived. */
  archivePageMax: 1_000,
  /** How long a month has to be over before it may be archived, in milliseconds; longer than any request can take. */
  archiveAgeMinMs: 259_200_000,
  /** How long archiving a month may block other transactions, in milliseconds, and the pause before a retry. */
  archiveLockMs: 500,
  /** The most attempts at archiving a month. */
  archiveLockTries: 60,
  /** How long a leaderboard that was read is shown, in milliseconds. */
  leaderboardKeptMs: 10_000,
  /** Interval of the polls for links that have expired, in milliseconds. */
  linkExpiryMs: 2_000,
  /** Series of compute locks that are not closed. */
  lockSeriesMax: 500,
  /** Interval of the polls for series of compute locks whose month is over, in milliseconds. */
  lockSeriesCheckMs: 5_000,
  /** The time from one payment of referrers to the next, in milliseconds. */
  referralPayMs: 60_000,
  /** Entries of the usage log that are counted for referrers in one step. */
  referralBatchMax: 5_000,
  /** Interval of the checks whether a basket of the price index is to be made, in milliseconds. */
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
  /** Interval at which the measurements of registered providers are judged, in milliseconds. */
  providerJudgeMs: 1_000,
  /** Window of the measurements that decide whether a provider keeps serving, in milliseconds. */
  providerWindowMs: 600_000,
  /** Requests, or timed streams, that are needed before their rates decide. */
  providerRequestsMin: 20,
  /** Reports of usage beyond what the gateway counted that are needed before their rate decides. */
  providerOverReportsMin: 3,
  /** How many of a million requests may have such a report. */
  providerOverReportPpmMax: 10_000,
  /** After so many suspensions only the operator can resume a provider. */
  providerSuspensionsMax: 3,
  /** How long a first suspension lasts, in milliseconds; each one lasts twice as long as the one before. */
  providerCoolDownMs: 3_600_000,
  /** How long measures are kept, in milliseconds; longer than any probation. */
  providerMeasuresKeptMs: 2_764_800_000,
  /** The time from one payment of registered providers to the next, in milliseconds. */
  providerPayMs: 60_000,
  /** Entries of the usage log that are counted for registered providers in one step. */
  providerPayBatchMax: 50_000,
  /** The time from one comparison of a provider's answer to the next, in milliseconds; 0 for none. */
  providerProbeMs: 300_000,
  /** The time that an answer to a comparison has, in milliseconds. */
  providerProbeTimeoutMs: 20_000,
  /** An answer to a comparison, in bytes. */
  providerProbeBytesMax: 1_048_576,
  /** Output tokens of an answer to a comparison that are paid for. */
  providerProbeTokens: 512,
  /** Comparisons that are needed before their outcome decides. */
  providerProbesMin: 5,
  /** How long comparisons count, in milliseconds. */
  providerProbeWindowMs: 86_400_000,
  /** Answers that have at least so many of a million tokens in common are the same. */
  providerSameAnswerPpm: 500_000,
  /** Days that the public record of a provider shows. */
  providerRecordDays: 30,
} as const
