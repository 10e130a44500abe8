import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { TokenLimits } from '../tokens/limits.ts'

/** The limits of bodies that other threads read. */
export const LARGE_BODY_LIMITS = {
  /** JSON above this size is read by another thread, in bytes. */
  jsonAtOnceBytesMax: 262_144,
  /** Most JSON of which the images and documents are forwarded without being read, in bytes; larger ones are read by another thread. */
  jsonWithDataBytesMax: 8_388_608,
  /** JSON above this size from senders whose credential is not proven is read by another thread, in bytes. */
  strangerJsonAtOnceBytesMax: 16_384,
  /** Bodies that wait for the thread that reads them, of customers and of strangers each; beyond, the account with the most is refused. */
  largeBodiesWaitingMax: 32,
  /** Time from the place in the queue to the end, in milliseconds; a thread that takes longer is ended. */
  largeBodyTimeoutMs: 20_000,
  /** An answer above this size is read by another thread, in bytes. */
  answerAtOnceBytesMax: 262_144,
  /** Answers that wait for the thread that reads them; beyond, the account with the most is refused. */
  largeAnswersWaitingMax: 256,
} as const

export type LargeBodyLimits = LimitsOf<typeof LARGE_BODY_LIMITS> & TokenLimits
