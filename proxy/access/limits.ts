import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of the keys that a process knows. */
export const ACCESS_LIMITS = {
  /** Keys that a process knows; beyond them the one unused for longest is forgotten. */
  keyCacheEntriesMax: 200_000,
  /** After how long a key is read again while changes of keys cannot be heard of, in milliseconds. */
  keyCacheTtlMs: 600_000,
  /** The wait before a key that could not be read again is tried once more, in milliseconds. */
  keyRefreshRetryMs: 1_000,
  /** Keys whose records a process waits for. */
  keyLookupsMax: 10_000,
  /** Keys that a process knows not to exist. */
  unknownKeysMax: 20_000,
  /** How long a key is known not to exist, in milliseconds. */
  unknownKeyTtlMs: 10_000,
} as const

export type AccessLimits = LimitsOf<typeof ACCESS_LIMITS> & ContractLimits
