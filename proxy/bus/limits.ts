import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of calls to control. */
export const BUS_LIMITS = {
  /** Calls of a process that wait for an answer. */
  rpcPendingMax: 10_000,
} as const

export type BusLimits = LimitsOf<typeof BUS_LIMITS> & ContractLimits
