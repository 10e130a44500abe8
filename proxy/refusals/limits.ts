import type { LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of the records of refused requests. */
export const REFUSAL_LIMITS = {
  /** Records that are kept of each of the 64 shards of accounts, and of all keys that are not in force; the oldest go first. */
  refusalRecordsMax: 1_000,
  /** How long they are kept, in milliseconds. */
  refusalRecordsKeptMs: 86_400_000,
  /** Records a minute of one account and one error, of each process; others are dropped, so that a flood hides no other refusal. */
  refusalRecordsPerMinute: 20,
  /** Accounts and errors that are counted in a minute; those of others are dropped. */
  refusalRecordsCountedMax: 10_000,
  /** Records that wait in a process until they are written; others are dropped. */
  refusalRecordsWaitingMax: 200,
  /** How long they are gathered, in milliseconds. */
  refusalRecordsGatherMs: 200,
} as const

export type RefusalLimits = LimitsOf<typeof REFUSAL_LIMITS>
