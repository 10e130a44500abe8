import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { ServerLimits } from '../server/limits.ts'

/** The limits of public reads, whose answers are kept. */
export const ENDPOINT_LIMITS = {
  /** Answers to public reads that a process keeps. */
  keptAnswersMax: 2_000,
  /** Memory of all kept answers together, in bytes. */
  keptAnswerBytesMax: 33_554_432,
  /** Path and query of a public read whose answer is cached, in characters. */
  keptAnswerNameCharactersMax: 512,
  /** How long control is waited for where an older answer is known, in milliseconds. */
  keptAnswerWaitMs: 1_000,
  /** Client networks whose public reads are counted. */
  publicReadersMax: 10_000,
} as const

export type EndpointLimits = LimitsOf<typeof ENDPOINT_LIMITS> & ServerLimits
