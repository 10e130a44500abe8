import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { RunLimits } from '../run/limits.ts'

/** The limits of the operations other than chat. */
export const MODALITY_LIMITS = {
  /** An answer that is not streamed, in bytes, however much was asked for. */
  responseBodyBytesMax: 67_108_864,
  /** One image of an answer, in bytes. */
  imageAnswerBytesMax: 33_554_432,
  /** One event of a stream of images, in bytes. */
  imageEventBytesMax: 8_388_608,
  /** One number of a vector, in bytes. */
  vectorNumberBytesMax: 32,
} as const

export type ModalityLimits = LimitsOf<typeof MODALITY_LIMITS> & RunLimits
