import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { JsonLimits } from '../json/limits.ts'

/** The limits of streams of events. */
export const SSE_LIMITS = {
  /** One event of a stream, in bytes. */
  eventBytesMax: 4_194_304,
} as const

export type SseLimits = LimitsOf<typeof SSE_LIMITS> & JsonLimits
