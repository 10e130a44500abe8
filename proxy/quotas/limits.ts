import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of quotas. */
export const QUOTA_LIMITS = {
  /** Requests of a shard that may wait for permits in a process; more are refused. */
  quotaWaitingMax: 10_000,
  /** Requests, and endings of requests, in one call to Redis. */
  quotaBatchMax: 256,
  /** How long permits of requests in flight are kept for a process that does not state them again, in milliseconds. */
  quotaHoldMs: 30_000,
  /** Interval at which a process states its permits in flight, in milliseconds; well below quotaHoldMs. */
  quotaStateMs: 10_000,
  /** How long a process that stops waits until Redis has what ended, in milliseconds. */
  quotaStopMs: 250,
} as const

export type QuotaLimits = LimitsOf<typeof QUOTA_LIMITS> & ContractLimits
