import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of control's connections, calls and feeds. */
export const RUNTIME_LIMITS = {
  /** Connections to PostgreSQL of one process. */
  databaseConnectionsMax: 10,
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
  /** The time between two removals of expired data, in milliseconds. */
  housekeepingMs: 60_000,
  /** Rows that one removal takes. */
  housekeepingBatchMax: 5_000,
} as const

export type RuntimeLimits = LimitsOf<typeof RUNTIME_LIMITS> & ContractLimits
