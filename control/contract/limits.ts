/**
 * Every bound of the gateway in one place. GET /v1/limits serves the public part.
 * An operator changes single values with SLUICE_LIMITS, a JSON object of names and positive integers.
 */
const DEFAULTS = {
  // Request bodies.
  bodyBytesMax: 33_554_432,
  jsonBodyBytesMax: 20_971_520,
  uncheckedBodyBytesMax: 65_536,
  bodyBytesDiscardedMax: 268_435_456,
  bodyPiecesMax: 100_000,
  bodyBytesOpenMax: 536_870_912,
  largeBodiesMax: 32,
  bodyTimeoutMs: 30_000,
  messagesMax: 4_096,
  toolsMax: 128,
  imagesMax: 16,
  imageUrlCharactersMax: 2_048,
  nameCharactersMax: 512,
  stopSequencesMax: 4,
  messageStopSequencesMax: 64,
  logitBiasEntriesMax: 1_024,
  jsonDepthMax: 128,

  // Counting tokens, in worker threads of each proxy process.
  countThreadsMax: 1,
  countQueueMax: 32,
  /** In the queue; then a count takes countWorkMs at most, and extrapolates what it has not come to. */
  countTimeoutMs: 10_000,
  countWorkMs: 2_000,
  /** Of a longer text, as much is counted, spread over it. */
  countCharactersMax: 1_048_576,
  countsOpenMax: 256,
  countsPerKeyMax: 16,
  estimateTimeoutMs: 1_000,
  workerIdleMs: 60_000,

  // Uploads: memory of all that are open in a process, and the parts of a form.
  uploadBytesOpenMax: 268_435_456,
  formPartsMax: 64,
  formHeadBytesMax: 16_384,
  formFieldBytesMax: 262_144,

  // What is not chat. speechCharactersMax is for models whose catalog entry states no context.
  embeddingInputsMax: 2_048,
  imagesPerAnswerMax: 10,
  imageSideMin: 16,
  imageSideMax: 8_192,
  speechCharactersMax: 4_096,
  audioSecondsMax: 14_400,
  rerankDocumentsMax: 10_000,

  // Priced tools.
  toolInputBytesMax: 262_144,
  toolAnswerBytesMax: 8_388_608,
  toolTimeoutMs: 60_000,
  toolAddressTimeoutMs: 2_000,

  // The Model Context Protocol: what a paid call needs at least to be settled and served.
  mcpPaidTimeMinMs: 15_000,

  // Rates. Burst is what may arrive at once after a quiet time.
  requestsPerMinute: 60_000,
  requestBurst: 3_000,
  openRequestsMax: 20_000,
  detachedRequestsMax: 1_000,
  lingerMs: 2_000,

  // Waiting for a provider.
  connectTimeoutMs: 5_000,
  firstByteTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  totalTimeoutMs: 600_000,
  connectionsPerProviderMax: 4_096,
  connectionIdleMs: 25_000,
  routeAttemptsMax: 4,
  responseBodyBytesMax: 67_108_864,
  preambleBytesMax: 65_536,
  eventBytesMax: 4_194_304,
  retryAfterSecondsMax: 60,

  // A route whose requests fail in a row is left alone for a while, then tried with one request.
  breakerFailures: 5,
  breakerOpenMs: 10_000,

  // Holds and settlements.
  holdBatchMax: 256,
  redisTimeoutMs: 2_000,
  /** Of an answer to the scripts of the hot path. */
  redisReplyBytesMax: 1_048_576,
  settleTimeoutMs: 2_000,
  settleRetryMs: 250,
  settleRetryMaxMs: 2_000,
  settleQueueMax: 10_000,
  settleJournalBytesMax: 1_073_741_824,
  rememberResultMinutes: 5,
  lostHoldWatchMs: 20_000,
  ledgerStreamEntriesMax: 1_000_000,
  heartbeatIntervalMs: 1_000,
  heartbeatTimeoutMs: 15_000,
  orphanCheckMs: 1_000,
  holdAgeMaxMs: 3_600_000,
  ownerScanMs: 60_000,
  grantsPerAccountMax: 64,
  grantSweepMs: 60_000,
  debitTakeMs: 1_000,
  debitCheckMs: 2_000,
  debitVoidMs: 10_000,
  debitVoidKeptMs: 86_400_000,
  admissionBringMs: 500,

  // Settlement into the book.
  settlementBatchMax: 3_000,
  settlementReadMin: 32,
  settlementGatherMs: 25,
  settlementClaimIdleMs: 10_000,
  settlementBlockMs: 1_000,
  settlementRetryMs: 500,
  admissionCheckMs: 1_000,
  admissionEventsBatchMax: 500,
  admissionPollMs: 250,
  keyChangePollMs: 250,
  keyChangesBatchMax: 1_000,
  keyChangesBatchesMax: 20,
  admissionLoadBatchMax: 500,
  auditPageMax: 1_000,
  auditRechecksMax: 10,
  databaseConnectionsMax: 10,
  databaseTimeoutMs: 30_000,
  dependencyTimeoutMs: 300_000,

  // Video jobs. A job's hold has to outlive it, so a job never gets more than half of holdAgeMaxMs.
  videoJobsPerKeyMax: 2,
  videoJobsMax: 500,
  videoOpenGraceMs: 10_000,
  videoJobMaxMs: 1_800_000,
  videoPollMinMs: 1_000,
  videoPollMaxMs: 10_000,
  videoPollTimeoutMs: 15_000,
  videoPollRefusalsMax: 5,
  videoStatusBytesMax: 262_144,
  videoKeptMs: 1_800_000,
  videoStateKeptMs: 86_400_000,
  videoImageBytesMax: 10_485_760,
  videoImageSideMax: 8_192,
  videoDownloadsMax: 128,
  videoDownloadsPerKeyMax: 8,

  // Batch jobs. A group is what travels in one batch of a provider.
  batchLifetimeMs: 86_400_000,
  batchResultKeptMs: 604_800_000,
  batchOpenMs: 60_000,
  batchJobsPerKeyMax: 10_000,
  batchJobsOpenMax: 1_000_000,
  batchBodyBytesMax: 4_194_304,
  batchSubmitsMax: 8,
  batchTickMs: 500,
  batchPassMax: 200,
  batchGatherMs: 2_000,
  batchGroupJobsMax: 1_000,
  batchGroupBytesMax: 33_554_432,
  batchLanes: 4,
  batchLeaseMs: 120_000,
  batchFindGraceMs: 60_000,
  batchFindPagesMax: 50,
  batchPollMs: 15_000,
  batchCancelLeadMs: 900_000,
  batchExpireGraceMs: 60_000,
  batchRetryMs: 5_000,
  batchRetryMaxMs: 300_000,
  batchAttemptsMax: 8,
  batchFileBytesMax: 134_217_728,
  batchResultBytesMax: 16_777_216,
  batchResultPartChars: 262_144,
  batchCallsPerProviderMax: 4,
  batchCallPaceMs: 100,
  batchCallTimeoutMs: 600_000,
  batchCallMarginMs: 5_000,
  webhookUrlCharactersMax: 2_048,
  webhookTimeoutMs: 10_000,
  webhookRetryMs: 15_000,
  webhookRetryMaxMs: 3_600_000,
  webhookLifetimeMs: 259_200_000,
  webhookKeptMs: 2_592_000_000,
  webhooksAtOnceMax: 16,

  // Calls from proxy to control, caches and feeds.
  rpcTimeoutMs: 5_000,
  pulseIntervalMs: 5_000,
  rpcPendingMax: 10_000,
  rpcConcurrencyMax: 32,
  rpcStreamEntriesMax: 10_000,
  feedEntriesMax: 100_000,
  keyCacheEntriesMax: 200_000,
  keyCacheTtlMs: 600_000,
  keyRefreshRetryMs: 1_000,
  unknownKeysMax: 20_000,
  unknownKeyTtlMs: 10_000,
  receiptsPageMax: 100,
  receiptWaitMs: 2_000,
  catalogCheckMs: 5_000,

  // Paying per request.
  verifyThreadsMax: 2,
  verifyThreadIdleMs: 60_000,
  verifyBatchMax: 64,
  verifyPendingMax: 4_096,
  verifyTimeoutMs: 10_000,
  chainBatchMax: 100,
  chainPollMs: 250,
  chainSweepMs: 2_000,
  chainSweepMax: 500,
  gasPriceMaxGwei: 500,
  gasPriceKeptMs: 2_000,
  gasPerTransactionMax: 500_000,
  replaceAfterMs: 30_000,
  replacementsMax: 8,
  chainScanMs: 2_000,
  chainScanBlocksMax: 1_000,
  chainLookbackBlocks: 1_000,
  /** Settling at once: signed authorizations, and transactions of payers. */
  paymentsInFlightMax: 256,
  payerTransactionsInFlightMax: 64,
  /** Checked on the chain at once before they settle: signed authorizations, signatures of contracts, transactions. */
  paymentChecksMax: 256,
  contractChecksMax: 16,
  payerTransactionChecksMax: 32,
  /** Payments that the chain was asked about in vain, of one kind: by client network, and of all. */
  paymentRefusalsPerMinute: 300,
  paymentRefusalBurst: 100,
  paymentRefusalsOverallPerMinute: 1_200,
  paymentRefusalOverallBurst: 400,
  trustedPayersMax: 10_000,
  paymentRefusalLogMs: 10_000,
  paymentTimeoutMs: 30_000,
  paymentTermsMs: 60_000,
  paymentHeaderBytesMax: 16_384,
  quoteWindowMs: 120_000,
  payerTransactionMs: 600_000,
  payerTransactionBytesMax: 4_096,
  paymentMarginMs: 5_000,
  paymentRefusalMs: 60_000,
  paymentCloseMs: 250,
  paymentCloseMax: 500,
  refundCheckMs: 1_000,
  refundBatchMax: 50,
  refundPaymentsMax: 1_000,
  refundAttemptsMax: 5,
  refundRefusedMs: 60_000,
  depositCheckMs: 1_000,
  depositCheckMax: 50,
  /** How long an authorization has to be valid at least, so that its transfer gets into a block. */
  depositWindowMinMs: 60_000,
  depositSignatureBytesMax: 2_048,
  withdrawalCheckMs: 1_000,
  withdrawalBatchMax: 50,
  withdrawalsOpenMax: 5,

  // The account API. Its timeout leaves room to answer 503 within two seconds when control is down.
  apiTimeoutMs: 1_800,
  apiConcurrencyMax: 8,
  apiStreamEntriesMax: 1_000,
  apiBodyBytesMax: 65_536,
  apiRequestsPerMinute: 600,
  apiRequestBurst: 100,
  signInRequestsPerMinute: 120,
  signInRequestBurst: 30,
  signatureFailuresPerMinute: 10,
  signatureCpuPercent: 25,
  signaturesWaitingMax: 4,
  signatureOverloadMs: 2_000,
  rateLimiterEntriesMax: 10_000,
  listPageMax: 100,
  keysPerAccountMax: 1_000,
  modelsPerKeyMax: 500,
  toolsPerKeyMax: 100,
  walletsPerAccountMax: 20,
  sessionLifetimeMs: 86_400_000,
  sessionsPerWalletMax: 20,
  nonceLifetimeMs: 600_000,
  linkCodeLifetimeMs: 86_400_000,
  idempotencyKeptMs: 86_400_000,
  usageDaysMax: 366,
  usagePageMax: 1_000,
  statementPageMax: 1_000,
  statementRowsReadMax: 20_000,
  subKeysPerPlatformMax: 10_000,
  agentsPerAccountMax: 1_000,
  approvalsPerAgentMax: 100,
  approvalLifetimeMs: 86_400_000,
  leaderboardDaysMax: 90,
  leaderboardKeptMs: 10_000,
  linkUnitsMin: 10_000_000,
  linkLifetimeMs: 2_592_000_000,
  linkLifetimeMaxMs: 31_536_000_000,
  linksPerAccountMax: 1_000,
  /** What API keys may pay to agents of other accounts in a day, where the account has set nothing else: 10 USD. */
  keyTransferUnitsPerDay: 10_000_000_000,
  linkExpiryMs: 2_000,
  referralShareBps: 500,
  referralPayMs: 60_000,
  referralBatchMax: 5_000,
  referralAttachesMax: 5,
  referralAttachWindowMs: 86_400_000,
  providersPerAccountMax: 20,
  providerChecksPerMinute: 10,
  providerCheckMs: 1_200,
  providerCheckBytesMax: 1_048_576,
  providerModelsMax: 500,
  statusCheckMs: 5_000,
  incidentsOpenMax: 100,
  incidentsShownMax: 500,
  incidentDaysShown: 90,
  routeSwitchesMax: 10_000,
  housekeepingMs: 60_000,
  housekeepingBatchMax: 5_000,
  chainTimeoutMs: 1_200,

  // Processes that `make run` and the tests start.
  startTimeoutMs: 60_000,
  restartDelayMs: 200,
  restartDelayMaxMs: 5_000,

  // Leaving.
  drainGraceMs: 10_000,
  shutdownTimeoutMs: 5_000,
} as const

export type LimitName = keyof typeof DEFAULTS
export type Limits = Readonly<Record<LimitName, number>>

/**
 * The defaults with the operator's changes applied.
 * @param overrides JSON text such as {"drainGraceMs": 2000}
 * @throws Error naming the entry when it is not a known limit or not a positive integer
 */
export function readLimits(overrides: string | undefined): Limits {
  if (overrides === undefined || overrides === '') return DEFAULTS
  const parsed: unknown = JSON.parse(overrides)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Error('SLUICE_LIMITS must be a JSON object of limit names and positive integers')
  }
  const limits: Record<LimitName, number> = { ...DEFAULTS }
  for (const [name, value] of Object.entries(parsed)) {
    if (!Object.hasOwn(DEFAULTS, name)) throw new Error(`SLUICE_LIMITS names an unknown limit: ${name}`)
    if (!Number.isSafeInteger(value) || value <= 0) {
      throw new Error(`SLUICE_LIMITS.${name} must be a positive integer, not ${JSON.stringify(value)}`)
    }
    limits[name as LimitName] = value
  }
  return limits
}

export const limits: Limits = readLimits(process.env['SLUICE_LIMITS'])
