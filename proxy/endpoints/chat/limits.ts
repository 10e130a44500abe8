import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { RunLimits } from '../run/limits.ts'

/** The limits of answers of chat models. */
export const CHAT_LIMITS = {
  /** A chat answer that is not streamed, in bytes for each output token that the hold pays for. */
  answerBytesPerTokenMax: 2_048,
  /** A chat answer that is not streamed, in bytes, however many tokens were asked for. */
  chatAnswerBytesMax: 16_777_216,
  /** Bytes that any stream may have in addition to the requested output. */
  streamBytesBase: 1_048_576,
  /** A stream of a chat answer, in bytes for each output token that the hold pays for. */
  streamBytesPerTokenMax: 4_096,
  /** How long a model is asked without a part that its providers have refused, in milliseconds. */
  refusedPartKeptMs: 600_000,
  /** The buffered part of a stream before its first content, in bytes. */
  preambleBytesMax: 65_536,
} as const

export type ChatLimits = LimitsOf<typeof CHAT_LIMITS> & RunLimits
