import type { ContractLimits, LimitsOf } from '../../../contract/limits/limits.ts'

/** The limits of the state of the service. */
export const STATUS_LIMITS = {
  /** Interval of the calls that measure whether control answers, in milliseconds. */
  pulseIntervalMs: 5_000,
  /** Requests from which the share of errors is judged for the state of the service. */
  statusRequestsMin: 20,
} as const

export type StatusLimits = LimitsOf<typeof STATUS_LIMITS> & ContractLimits
