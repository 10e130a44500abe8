import type { JsonObject } from '../../contract/std/jsonObject.ts'
import type { RequestKind } from './kinds.ts'

/** One answer as a client saw it. Times are milliseconds of `performance.now()`. */
export interface Answer {
  readonly kind: RequestKind
  readonly key: string
  /** 0 when no answer came. */
  readonly status: number
  /** When the request was due, or was sent where nothing schedules it. */
  readonly dueMs: number
  /** When the first output came; 0 when none came. */
  readonly firstMs: number
  readonly endMs: number
  /** Why the answer is not good: the code that the gateway gave, or one of the load test's own; empty for a good one. */
  readonly errorCode: string
  /** A stream that began and did not end in [DONE]. */
  readonly isCut: boolean
  readonly requestId: string
  readonly usage: JsonObject | undefined
  readonly receipt: JsonObject | undefined
  /** The header x-cost-units. */
  readonly costUnits: string | undefined
  readonly lostFrames: number
  readonly reorderedFrames: number
  readonly stalls: number
  readonly longestGapMs: number
  /** Pauses between the frames of a stream that have output. */
  readonly gapsMs: readonly number[]
}
