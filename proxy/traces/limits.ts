import type { LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of traces. */
export const TRACE_LIMITS = {
  /** Characters of `tracestate`; a longer one is left out. */
  traceStateCharactersMax: 512,
  /** Characters of a path in a span; the rest is cut off. */
  tracePathCharactersMax: 256,
  /** Attempts of a request that have spans; the last ones are kept beyond it. */
  traceAttemptsMax: 32,
  /** How long a process that stops exports the spans that wait, in milliseconds. */
  traceStopMs: 1_000,
  /** After how long without spans the thread that exports them ends, in milliseconds. */
  traceThreadIdleMs: 60_000,
  /** How long that thread may need to start, beside the time of an export, in milliseconds. */
  traceThreadStartMs: 10_000,
  /** The first wait before an export that failed is tried again, in milliseconds; doubled each time. */
  traceRetryMs: 1_000,
  /** The answer of a receiver that is read, in bytes. */
  traceAnswerBytesMax: 65_536,
  /** The input of a request in its span, and its output, in bytes each; longer input is left out, longer output cut. */
  traceContentBytesMax: 65_536,
  /** The body of a request, and its answer, that are kept for their content, in bytes each: JSON, events and images make them longer than it. */
  traceContentRawBytesMax: 524_288,
  /** All content that a process keeps until it is exported, in bytes; beyond it, content is dropped. */
  traceContentQueueBytesMax: 16_777_216,
  /** Content of one export, in bytes; one request may have more. */
  traceContentBatchBytesMax: 4_194_304,
} as const

export type TraceLimits = LimitsOf<typeof TRACE_LIMITS>
