/** The bounds of request bodies, as defaults of `limits`. */
export const BODY_LIMITS = {
  bodyBytesMax: 33_554_432,
  jsonBodyBytesMax: 20_971_520,
  uncheckedBodyBytesMax: 65_536,
  bodyBytesDiscardedMax: 268_435_456,
  bodyPiecesMax: 100_000,
  bodyBytesOpenMax: 536_870_912,
  largeBodiesMax: 32,
  bodyTimeoutMs: 30_000,
  /** Bodies that take longer than a few seconds. */
  slowBodiesMax: 2_000,
  // Bodies of senders whose credential is not proven have a share of their own, so that nobody else goes without.
  strangerBodyBytesMax: 1_048_576,
  strangerBodyBytesOpenMax: 134_217_728,
  strangerUploadBytesMax: 16_777_216,
  strangerUploadBytesOpenMax: 134_217_728,
  strangerSlowBodiesMax: 1_000,
  messagesMax: 4_096,
  toolsMax: 128,
  imagesMax: 16,
  imageUrlCharactersMax: 2_048,
  nameCharactersMax: 512,
  stopSequencesMax: 4,
  messageStopSequencesMax: 64,
  logitBiasEntriesMax: 1_024,
  jsonDepthMax: 128,
  // JSON above these sizes (AtOnce) is parsed in steps, and bounded by what it holds.
  jsonAtOnceBytesMax: 262_144,
  jsonMembersMax: 65_536,
  jsonElementsMax: 524_288,
  strangerJsonAtOnceBytesMax: 16_384,
  strangerJsonMembersMax: 16_384,
  strangerJsonElementsMax: 65_536,
  /** Bodies that wait for being parsed in steps, of customers and of strangers each. */
  jsonStepsWaitingMax: 32,
} as const
