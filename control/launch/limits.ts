import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { CatalogLimits } from '../catalog/limits.ts'
import type { ChainLimits } from '../chain/limits.ts'

/** The limits of the processes that `make run` and the tests start. */
export const LAUNCH_LIMITS = {
  /** The time that a process has to start, in milliseconds. */
  startTimeoutMs: 60_000,
  /** The wait before a process that ended by itself is started again, at first, in milliseconds. */
  restartDelayMs: 200,
  /** The longest wait before a program is started again, in milliseconds. */
  restartDelayMaxMs: 5_000,
} as const

export type LaunchLimits = LimitsOf<typeof LAUNCH_LIMITS> & CatalogLimits & ChainLimits
