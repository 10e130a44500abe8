import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { RunLimits } from '../run/limits.ts'

/** The limits of video jobs. */
export const VIDEO_LIMITS = {
  /** How long a job that was opened counts while its hold is not visible yet, in milliseconds. */
  videoOpenGraceMs: 10_000,
  /** The shortest interval of the polls for the state of a video job, in milliseconds. */
  videoPollMinMs: 1_000,
  /** The longest interval of the polls for the state of a video job, in milliseconds. */
  videoPollMaxMs: 10_000,
  /** Timeout of a poll, in milliseconds. */
  videoPollTimeoutMs: 15_000,
  /** Refusals of polls in a row after which a job has failed. */
  videoPollRefusalsMax: 5,
  /** A provider's answer about a job, in bytes. */
  videoStatusBytesMax: 262_144,
  /** How long the state of a job is kept in Redis, in milliseconds. */
  videoStateKeptMs: 86_400_000,
  /** Redirects in a row that are followed to a clip. */
  videoRedirectsMax: 3,
  /** Clips that are fetched concurrently from a process. */
  videoDownloadsMax: 128,
} as const

export type VideoLimits = LimitsOf<typeof VIDEO_LIMITS> & RunLimits
