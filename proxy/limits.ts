import { CONTRACT_LIMITS, type ContractLimits, type LimitsOf, readPart } from '../contract/limits/limits.ts'
import { UPLOAD_LIMITS } from './upload/limits.ts'

/** The limits of the proxy alone. */
export const PROXY_LIMITS = {
  ...UPLOAD_LIMITS,
  // Bodies. Senders whose credential is not proven ("stranger") have a separate share.
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
  /** JSON above this size is read by another thread, in bytes. */
  jsonAtOnceBytesMax: 262_144,
  /** JSON above this size from senders whose credential is not proven is read by another thread, in bytes. */
  strangerJsonAtOnceBytesMax: 16_384,
  /** Bodies that wait for the thread that reads them, of customers and of strangers each. */
  largeBodiesWaitingMax: 32,
  /** Time from the place in the queue to the end, in milliseconds; a thread that takes longer is ended. */
  largeBodyTimeoutMs: 20_000,
  /** The part of a request that its answer echoes, in bytes. */
  echoBytesMax: 1_048_576,
  /** The messages of the user that stay beside a summary of their conversation, in bytes. */
  compactKeptBytesMax: 131_072,
  /** A text that clients keep and send back without looking into it, such as thinking or a summary, in characters. */
  packedCharactersMax: 1_048_576,
  /** Of images and videos, in UTF-16 code units. */
  promptCharactersMax: 65_536,
  /** Memory of all uploads that are open in a process, in bytes. */
  uploadBytesOpenMax: 268_435_456,
  /** Memory of the uploads of senders whose credential is not proven, in bytes. */
  strangerUploadBytesOpenMax: 134_217_728,
  /** The head of a part of a form, in bytes. */
  formHeadBytesMax: 16_384,

  // Counting tokens, in worker threads of each process.
  /** Threads that count. */
  countThreadsMax: 1,
  /** Counts that wait for a thread. */
  countQueueMax: 32,
  /** How long a count may wait for a thread, in milliseconds. */
  countTimeoutMs: 10_000,
  /** How long a thread may count one text, in milliseconds; the rest is extrapolated. */
  countWorkMs: 2_000,
  /** Characters of a longer text that are counted, spread over it. */
  countCharactersMax: 1_048_576,
  /** Requests for a count of tokens that are open in a process. */
  countsOpenMax: 256,
  /** Requests for a count of tokens that are open for one key. */
  countsPerKeyMax: 16,
  /** How long a charge waits for the count that it is estimated from, in milliseconds. */
  estimateTimeoutMs: 1_000,
  /** After how long without work a counting thread ends, in milliseconds. */
  workerIdleMs: 60_000,

  // The log.
  /** How long refused requests are gathered for one line of the log, in milliseconds. */
  refusalLogMs: 1_000,
  /** Request ids in one such line. */
  refusalLogIdsMax: 100,
  /** Interval of the log lines about an outage that goes on, in milliseconds. */
  outageLogMs: 60_000,

  // Requests.
  /** The answer of a priced tool, in bytes. */
  toolAnswerBytesMax: 2_097_152,
  /** Timeout of looking up the address of a priced tool, in milliseconds. */
  toolAddressTimeoutMs: 2_000,
  /** The time that a paid call of the Model Context Protocol needs at least to be settled and served, in milliseconds. */
  mcpPaidTimeMinMs: 15_000,
  /** Requests that continue after their client has disconnected. */
  detachedRequestsMax: 1_000,
  /** How long a stream is read after its client has disconnected, for the usage at its end, in milliseconds. */
  lingerMs: 2_000,

  // Providers.
  /** Connections to one provider from a process. */
  connectionsPerProviderMax: 4_096,
  /** After how long without use a connection is closed, in milliseconds. */
  connectionIdleMs: 25_000,
  /** Addresses of which a session of TLS is kept for the next connection. */
  tlsSessionsMax: 512,
  /** One of these sessions, in bytes. */
  tlsSessionBytesMax: 16_384,
  /**
   * After how long a provider has to show its certificate again, however often its TLS sessions were resumed, in
   * milliseconds.
   */
  tlsSessionAgeMs: 3_600_000,
  /** Routes that are tried for one request. */
  routeAttemptsMax: 4,
  /** An answer that is not streamed, in bytes, however much was asked for. */
  responseBodyBytesMax: 67_108_864,
  /** Memory of all such answers of a process until they are read, in bytes. */
  answerBytesOpenMax: 268_435_456,
  /** The part of them that comes from registered providers, in bytes: they cannot take the memory of others' answers. */
  registeredAnswerBytesOpenMax: 67_108_864,
  /** Bytes that any answer may have in addition to the requested output. */
  answerBytesBase: 65_536,
  /** A chat answer that is not streamed, in bytes for each output token that the hold pays for. */
  answerBytesPerTokenMax: 2_048,
  /** A chat answer that is not streamed, in bytes, however many tokens were asked for. */
  chatAnswerBytesMax: 16_777_216,
  /** A chat answer that becomes the result of a call of the Model Context Protocol, in bytes. */
  mcpAnswerBytesMax: 524_288,
  /** One image of an answer, in bytes. */
  imageAnswerBytesMax: 33_554_432,
  /** One event of a stream of images, in bytes. */
  imageEventBytesMax: 8_388_608,
  /** One number of a vector, in bytes. */
  vectorNumberBytesMax: 32,
  /** Members of all objects in the JSON of an answer, or of one event of a stream, without what is relayed as bytes. */
  answerMembersMax: 16_384,
  /** Elements of all arrays in such JSON. */
  answerElementsMax: 32_768,
  /** Such JSON where it is parsed, in bytes. */
  answerParsedBytesMax: 2_097_152,
  /** An answer above this size is read by another thread, in bytes. */
  answerAtOnceBytesMax: 262_144,
  /** Answers that wait for the thread that reads them. */
  largeAnswersWaitingMax: 256,
  /** Bytes that any stream may have in addition to the requested output. */
  streamBytesBase: 1_048_576,
  /** A stream of a chat answer, in bytes for each output token that the hold pays for. */
  streamBytesPerTokenMax: 4_096,
  /** Any stream, in bytes, however much was asked for. */
  streamBytesMax: 268_435_456,
  /** The buffered part of a stream before its first content, in bytes. */
  preambleBytesMax: 65_536,
  /** One event of a stream, in bytes. */
  eventBytesMax: 4_194_304,
  /** One event of a stream that is parsed, since its client or its count needs another format, in bytes. */
  eventParsedBytesMax: 1_048_576,
  /** The longest Retry-After of a provider that is passed on, in seconds. */
  retryAfterSecondsMax: 60,
  /** Consecutive failures after which the circuit breaker of a route opens. */
  breakerFailures: 5,
  /** How long the breaker stays open before one request tries the route, in milliseconds. */
  breakerOpenMs: 10_000,
  /**
   * How long a route rests whose account at the provider is empty, revoked or suspended, in milliseconds: somebody has to act
   * there.
   */
  accountFaultCoolMs: 300_000,
  /** Interval of the connections that probe a provider, in milliseconds. */
  routeProbeMs: 30_000,
  /** Interval of the probes while the provider cannot be reached, in milliseconds; below breakerOpenMs. */
  routeProbeRetryMs: 5_000,
  /** How long such a connection may take, in milliseconds. */
  routeProbeTimeoutMs: 4_000,

  // Settlements.
  /** The wait before settlements that Redis did not take are retried, in milliseconds. */
  settleRetryMs: 250,
  /** Holds with an unknown outcome that a process looks for. */
  strayHoldsMax: 10_000,

  // Leases.
  /** Interval of the deliveries of endings of a shard, in milliseconds. */
  leaseDeliverMs: 50,
  /** Endings in one delivery. */
  leaseDeliverBatchMax: 256,
  /** Length of the window over which a key's demand is measured, in milliseconds. */
  leaseDemandMs: 250,
  /** Requests of a key per demand window above which the process leases in advance. */
  leaseDemandRequests: 4,
  /** How long an unused lease is kept, in milliseconds. */
  leaseIdleMs: 1_000,
  /** How long leases may be used while Redis does not answer, in milliseconds; less than heartbeatTimeoutMs. */
  leaseSilenceMs: 10_000,
  /** Interval of the checks whether control has loaded the state of a Redis that took over, in milliseconds. */
  serversAskMs: 50,
  /** How long a request waits for recalled leases of other processes, in milliseconds. */
  recallWaitMs: 50,
  /** How long an account is leased hold by hold after such a recall, in milliseconds. */
  recallExactMs: 2_000,
  /** How long the answer that this process serves a request stays in Redis, in milliseconds. */
  askedMs: 5_000,
  /** Ended requests that a process remembers to have served. */
  endedKnownMax: 10_000,
  // The journal.
  /** One file of the journal, in bytes. */
  journalSegmentBytes: 4_194_304,
  /** How long the journal is gathered in memory before it is written to disk, in milliseconds. */
  journalMirrorMs: 20,
  /** How long a write to the file system in memory may take before it is avoided for a while, in milliseconds. */
  journalMemoryWriteMs: 200,
  /** How long it is avoided, in milliseconds. */
  journalMemoryRestMs: 60_000,
  /** The lag of the disk, in bytes; above it no requests are opened. */
  journalLagBytesMax: 16_777_216,
  /** The journal of a process, in bytes; beyond it no requests are opened. */
  journalBytesMax: 1_073_741_824,
  /** Files that may be kept for requests that are open alone, before these are written again. */
  journalPinnedMax: 8,
  /** The wait before a disk that failed is tried again, in milliseconds. */
  journalRetryMs: 250,
  /** Interval of the scans for journals of dead processes, in milliseconds. */
  replayScanMs: 1_000,
  /** Interval of the checks whether a dead process's journal is booked, in milliseconds. */
  replayPollMs: 200,
  // Video jobs.
  /** How long a job that was opened counts while its hold is not visible yet, in milliseconds. */
  videoOpenGraceMs: 10_000,
  /** The shortest interval of the polls for the state of a video job, in milliseconds. */
  videoPollMinMs: 1_000,
  /** The longest interval of the polls for the state of a video job, in milliseconds. */
  videoPollMaxMs: 10_000,
  /** Timeout of a poll, in milliseconds. */
  videoPollTimeoutMs: 15_000,
  /** Refusals of polls in a row after which a job has failed. */
  videoPollRefusalsMax: 5,
  /** A provider's answer about a job, in bytes. */
  videoStatusBytesMax: 262_144,
  /** How long the state of a job is kept in Redis, in milliseconds. */
  videoStateKeptMs: 86_400_000,
  /** Clips that are fetched concurrently from a process. */
  videoDownloadsMax: 128,

  // Calls to control, and the cache of their answers.
  /** Interval of the calls that measure whether control answers, in milliseconds. */
  pulseIntervalMs: 5_000,
  /** Interval at which the proxy processes exchange their views of routes, in milliseconds. */
  routeViewMs: 2_000,
  /** How long the view of a process counts, in milliseconds. */
  routeViewKeptMs: 10_000,
  /** Routes of each kind in such a view. */
  routeViewRoutesMax: 1_000,
  /** Calls of a process that wait for an answer. */
  rpcPendingMax: 10_000,
  /** Keys that a process knows. */
  keyCacheEntriesMax: 200_000,
  /** After how long a key is read again, in milliseconds. */
  keyCacheTtlMs: 600_000,
  /** The wait before a key that could not be read again is tried once more, in milliseconds. */
  keyRefreshRetryMs: 1_000,
  /** Keys that a process knows not to exist. */
  unknownKeysMax: 20_000,
  /** How long a key is known not to exist, in milliseconds. */
  unknownKeyTtlMs: 10_000,
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
  /** Requests from which the share of errors is judged for the state of the service. */
  statusRequestsMin: 20,

  // Paying per request.
  /** Threads that verify signatures. */
  verifyThreadsMax: 2,
  /** After how long without work such a thread ends, in milliseconds. */
  verifyThreadIdleMs: 60_000,
  /** Signatures that a thread verifies in one task. */
  verifyBatchMax: 64,
  /** Signatures that wait for a thread. */
  verifyPendingMax: 4_096,
  /** How long a signature may wait, in milliseconds. */
  verifyTimeoutMs: 10_000,
  /** After how long the terms of payments are read again, in milliseconds. */
  paymentTermsMs: 60_000,
  /** The header that carries a payment, in bytes. */
  paymentHeaderBytesMax: 16_384,
} as const

export type Limits = ContractLimits & LimitsOf<typeof PROXY_LIMITS>
export type LimitName = keyof Limits

/**
 * The limits that the proxy runs under.
 * @param overrides the text of SLUICE_LIMITS; see `readPart`
 * @throws Error naming what is wrong in it
 */
export function readLimits(overrides: string | undefined): Limits {
  return readPart('proxy', { ...CONTRACT_LIMITS, ...PROXY_LIMITS }, overrides)
}
