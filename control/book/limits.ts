import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { RuntimeLimits } from '../runtime/limits.ts'

/** The limits of settling into the book. */
export const BOOK_LIMITS = {
  /**
   * Ended requests that are booked in one transaction; those of one stream entry stay together, however many they are. The
   * sums by account and key are written once in it, so that larger batches cost less a request.
   */
  settlementBatchMax: 6_000,
  /** Transactions that book concurrently, each its own shards. */
  settlementLanes: 4,
  /** Ended requests that are divided among the lanes; fewer are booked in one transaction. */
  settlementDivideMin: 512,
  /**
   * Tags, and users, of an account that have sums of their own in an hour and in a day, in the order in which they come; the others
   * are added up together.
   */
  usageTagsMax: 100,
  /** Interval of the checks whether there are days to roll up, in milliseconds. */
  usageRollupMs: 60_000,
  /** Accounts that have at least so many sums by day, key and model, or others of the kind, have rollups. */
  usageRollupRowsMin: 1_000,
  /** Such sums that are rolled up in one step; of one day, all of them. */
  usageRollupRowsMax: 20_000,
  /** Accounts that are looked at in one step. */
  usageRollupAccounts: 200,
  /** The window of the keys that spend most, in milliseconds. */
  topSpendMs: 300_000,
  /** Keys whose charges are counted in it. */
  topSpendKeysMax: 100_000,
  /** Of these, the keys that metrics show. */
  topSpendShownMax: 20,
  /** Interval of the heartbeats of a control that books, in milliseconds. */
  bookerBeatMs: 1_000,
  /** How long the shards of a control that gives no sign of life stay its own, in milliseconds. */
  bookerLeaseMs: 3_000,
  /** The most ended requests of one read of the ledger streams; Redis serves nothing else while it returns them. */
  settlementReadMax: 3_000,
  /** The least number of entries that are read together from a ledger stream. */
  settlementReadMin: 32,
  /** How long entries gather before the next read, in milliseconds. */
  settlementGatherMs: 25,
  /** After how long entries of a control that does not finish them are taken over, in milliseconds. */
  settlementClaimIdleMs: 10_000,
  /** How long a read waits for entries, in milliseconds. */
  settlementBlockMs: 1_000,
  /** The wait before a batch or a read that failed is tried again, in milliseconds. */
  settlementRetryMs: 500,
  /** Interval of the checkpoints of the usage logs, of all controls together, in milliseconds. */
  checkpointMs: 1_000,
  /** How long checkpoints and the entries of the log of heads are kept, in milliseconds; hashes of the latter stay for good. */
  checkpointsKeptMs: 2_592_000_000,
  /** Old checkpoints that are removed together. */
  checkpointsForgottenMax: 5_000,
  /** Tiles of 256 old entries of the log of heads that are removed together. */
  headTilesForgottenMax: 32,
  /** How long after it was signed a checkpoint may be cosigned, in milliseconds. */
  cosignatureAfterMs: 3_600_000,
  /** By how much the clock of a witness may differ, in milliseconds. */
  cosignatureSkewMs: 60_000,
  /** Interval of the checks that receipts of the next months have their partitions, in milliseconds. */
  receiptMonthsMs: 3_600_000,
  /** Interval of the counts of receipts for the public statistics and the sums by outcome, tag and user, in milliseconds. */
  statisticsMs: 10_000,
  /** Batches that are counted for the public statistics in one step. */
  statisticsBatchesMax: 1_000,
  /** Bytes of sums by tag and user, of several batches, that are counted in one step. */
  statisticsTagBytesMax: 16_777_216,
  /** Receipts that are counted in one step by outcome, and those that are in no batch for the public statistics. */
  statisticsReceiptsMax: 20_000,
  /**
   * How long a day is over before what too few accounts have used of a model is folded into others, in milliseconds: longer
   * than requests of that day take to be booked, batch jobs among them.
   */
  statisticsFoldMs: 93_600_000,
  /** How long the book remembers how far it is with the endings of a proxy process that is gone, in milliseconds. */
  ownerPositionsKeptMs: 2_592_000_000,
  /** Open grants of credits that an account may have. */
  grantsPerAccountMax: 64,
} as const

export type BookLimits = LimitsOf<typeof BOOK_LIMITS> & RuntimeLimits
