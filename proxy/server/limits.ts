import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of bodies as they arrive. Senders whose credential is not proven ("stranger") have a separate share. */
export const SERVER_LIMITS = {
  /** The part of a body that is read before its sender is known, in bytes. */
  uncheckedBodyBytesMax: 65_536,
  /** Bytes of refused bodies that a process reads and discards concurrently. */
  bodyBytesDiscardedMax: 268_435_456,
  /** Pieces that a body arrives in. */
  bodyPiecesMax: 100_000,
  /** Memory of all bodies that are open in a process, in bytes. */
  bodyBytesOpenMax: 536_870_912,
  /** Memory of all open bodies of senders whose credential is not proven, in bytes. */
  strangerBodyBytesOpenMax: 134_217_728,
  /** Large bodies that a process reads concurrently. */
  largeBodiesMax: 32,
  /** Bodies that take longer than a few seconds. */
  slowBodiesMax: 2_000,
  /** Slow bodies of senders whose credential is not proven. */
  strangerSlowBodiesMax: 1_000,
  /** How long a client may take nothing of an answer that it has not received whole, in milliseconds. */
  readerStallMs: 120_000,
  /** Memory of all uploads that are open in a process, in bytes. */
  uploadBytesOpenMax: 268_435_456,
  /** Memory of the uploads of senders whose credential is not proven, in bytes. */
  strangerUploadBytesOpenMax: 134_217_728,
} as const

export type ServerLimits = LimitsOf<typeof SERVER_LIMITS> & ContractLimits
