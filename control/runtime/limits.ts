import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of control's connections, calls and feeds. */
export const RUNTIME_LIMITS = {
  /** Connections to PostgreSQL of one process. */
  databaseConnectionsMax: 10,
  /** Further connections to PostgreSQL of one process, which hold locks while the work is done on others; not fewer than there are locks. */
  lockConnectionsMax: 24,
  /** Further connections to PostgreSQL of one process, which read the records of API keys alone. */
  lookupConnectionsMax: 2,
  /** How long a connection to PostgreSQL is awaited, a free or a new one, in milliseconds. */
  databaseConnectMs: 5_000,
  /** How long a connection to PostgreSQL that nothing uses stays open, in milliseconds; longer than loops sleep, since opening one costs PostgreSQL as much as a hundred small statements. */
  databaseIdleMs: 120_000,
  /** The time of a statement, and of an idle transaction, in milliseconds. */
  databaseTimeoutMs: 30_000,
  /** How long a start waits for PostgreSQL, Redis or the admission state, in milliseconds. */
  dependencyTimeoutMs: 300_000,
  /** Entries of the feed to the proxies; a proxy that has fallen further behind reads everything again. */
  feedEntriesMax: 100_000,
  /** How long the record of a key stays in Redis, where proxies that do not have it read it, in milliseconds. */
  keyRecordKeptMs: 21_600_000,
  /** How long these records are used after all changes of keys were last announced, in milliseconds. */
  keyRecordTrustMs: 5_000,
  /** Changes of keys that are announced in one step. */
  keyChangesBatchMax: 1_000,
  /** Such steps in a row before anything else gets its turn. */
  keyChangesBatchesMax: 20,
  /** Interval of the comparisons of the machine's clock with Redis's, in milliseconds. */
  clockCheckMs: 10_000,
  /** Interval of the questions to PostgreSQL and Redis that measure them, in milliseconds. */
  serverCheckMs: 2_000,
  /** After how long without an answer to one of these a server counts as slow, in milliseconds. */
  serverSlowMs: 1_000,
  /** The time of all reads of a scrape of the metrics, in milliseconds; what is not read then keeps its last values. */
  scrapeReadsMs: 3_000,
  /** Interval of the checks whether booking or the export is late, in milliseconds. */
  lagCheckMs: 5_000,
  /** How old an ended request that is not booked may be before booking counts as late, in milliseconds. */
  settlementLateMs: 30_000,
  /** How long after the end of an hour its export counts as late, in milliseconds. */
  exportLateMs: 1_200_000,
  /** The time between two removals of expired data, in milliseconds. */
  housekeepingMs: 60_000,
  /** Rows that one removal takes. */
  housekeepingBatchMax: 5_000,
} as const

export type RuntimeLimits = LimitsOf<typeof RUNTIME_LIMITS> & ContractLimits
