import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { SseLimits } from '../sse/limits.ts'

/** The limits of requests to chat models, and of their answers. */
export const DIALECT_LIMITS = {
  /** The part of a request that its answer echoes, in bytes. */
  echoBytesMax: 1_048_576,
  /** The messages of the user that stay beside a summary of their conversation, in bytes. */
  compactKeptBytesMax: 131_072,
  /** A text that clients keep and send back without looking into it, such as thinking or a summary, in characters. */
  packedCharactersMax: 1_048_576,
  /** One event of a stream that is parsed, since its client or its count needs another format, in bytes. */
  eventParsedBytesMax: 1_048_576,
  /** Tool calls of an answer; one that has more is broken. */
  toolCallsMax: 128,
  /** Citations of an answer that a client of another format than the provider's gets. */
  citationsMax: 256,
  /** Tools that are defined for the calls of a history, where its request offers none. */
  calledToolsMax: 128,
  /** Names of members that a provider did not get, in the header that lists them. */
  droppedNamesMax: 32,
  /** Long strings of a request that are not parsed; with more of them, pieces cost more than the text that they save. */
  cutStringsMax: 256,
} as const

export type DialectLimits = LimitsOf<typeof DIALECT_LIMITS> & SseLimits

/** The bounds of the tool calls and of the citations of an answer. */
export type CallBounds = Pick<DialectLimits, 'toolCallsMax' | 'citationsMax'>
