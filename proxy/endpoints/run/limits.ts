import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { AdmissionLimits } from '../../admission/limits.ts'
import type { DialectLimits } from '../../dialects/limits.ts'
import type { UploadLimits } from '../../upload/limits.ts'
import type { UpstreamLimits } from '../../upstream/limits.ts'
import type { LargeBodyLimits } from '../largeBodies/limits.ts'

/** The limits of metered requests of every kind. */
export const RUN_LIMITS = {
  /** Requests that continue after their client has disconnected. */
  detachedRequestsMax: 1_000,
  /**
   * How long a stream is read after its client has disconnected, for the usage at its end, in milliseconds; and after its own end,
   * for that of its body, so that its connection can be kept.
   */
  lingerMs: 2_000,
  /** Of images and videos, in UTF-16 code units. */
  promptCharactersMax: 65_536,
  /** Bytes that any answer may have in addition to the requested output. */
  answerBytesBase: 65_536,
  /** Any stream, in bytes, however much was asked for. */
  streamBytesMax: 268_435_456,
} as const

export type RunLimits = LimitsOf<typeof RUN_LIMITS> &
  LargeBodyLimits &
  DialectLimits &
  UpstreamLimits &
  AdmissionLimits &
  UploadLimits
