import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { AdmissionLimits } from '../admission/limits.ts'
import type { MetricsLimits } from '../metrics/limits.ts'

/** The limits of the processes of a proxy, and of booking the journals of those that are gone. */
export const SUPERVISOR_LIMITS = {
  /** Interval of the scans for journals of dead processes, in milliseconds. */
  replayScanMs: 1_000,
  /** Interval of the checks whether a dead process's journal is booked, in milliseconds. */
  replayPollMs: 200,
  /** How long a worker is waited for where its metrics are read, in milliseconds; later they are those that it had before. */
  workerReportMs: 1_000,
} as const

export type SupervisorLimits = LimitsOf<typeof SUPERVISOR_LIMITS> & AdmissionLimits & MetricsLimits
