/**
 * The limits that clients meet: those that GET /v1/limits lists by their own names, and those that an answer or an error
 * states. Operators change them with SLUICE_LIMITS.
 */
export const CLIENT_LIMITS = {
  // Rates.
  /** Requests to models that a key may make, per minute. */
  requestsPerMinute: 60_000,
  /** Requests to models that a key may make in a burst after a quiet time. */
  requestBurst: 3_000,
  /** Requests to the account API that a caller may make, per minute. */
  apiRequestsPerMinute: 600,
  /** Requests to the account API that a caller may make in a burst after a quiet time. */
  apiRequestBurst: 100,
  /** Requests for nonces and sessions from one client network, per minute. */
  signInRequestsPerMinute: 120,
  /** Requests for nonces and sessions from one client network in a burst after a quiet time. */
  signInRequestBurst: 30,
  /** Wrong signatures for one wallet from one client network, per minute. */
  signatureFailuresPerMinute: 10,
  /** Checks of providers' endpoints that an account may ask for, per minute. */
  providerChecksPerMinute: 10,
  /** Payments of one kind from one client network that the chain refused after it was asked, per minute. */
  paymentRefusalsPerMinute: 300,
  /** Such payments from one client network in a burst after a quiet time. */
  paymentRefusalBurst: 100,
  /** Payments of one kind from all client networks that the chain refused after it was asked, per minute. */
  paymentRefusalsOverallPerMinute: 1_200,
  /** Such payments from all client networks in a burst after a quiet time. */
  paymentRefusalOverallBurst: 400,
  /** Accounts that may be attached to a referrer from one client network within referralAttachWindowMs. */
  referralAttachesMax: 5,
  /** The time over which referralAttachesMax counts, in milliseconds. */
  referralAttachWindowMs: 86_400_000,
  /** Requests open concurrently in one proxy process. */
  openRequestsMax: 20_000,

  // Bodies.
  /** A body of any kind, uploads among them, in bytes. */
  bodyBytesMax: 33_554_432,
  /** A body of JSON, in bytes. */
  jsonBodyBytesMax: 20_971_520,
  /** The time that a body may take to arrive, in milliseconds. */
  bodyTimeoutMs: 30_000,
  /** A body of JSON without a proven credential, in bytes. */
  strangerBodyBytesMax: 1_048_576,
  /** An upload without a proven credential, in bytes. */
  strangerUploadBytesMax: 16_777_216,
  /** The body of a request to the account API, in bytes. */
  apiBodyBytesMax: 65_536,
  /** The body of a batch job, in bytes. */
  batchBodyBytesMax: 4_194_304,
  /** A message of the Model Context Protocol, in bytes. */
  mcpBodyBytesMax: 1_048_576,
  /** How deep JSON may nest, in levels. */
  jsonDepthMax: 128,
  /** Members of all objects in a body of JSON. */
  jsonMembersMax: 65_536,
  /** Elements of all arrays in a body of JSON. */
  jsonElementsMax: 524_288,
  /** Members of all objects in a body of JSON without a proven credential. */
  strangerJsonMembersMax: 16_384,
  /** Elements of all arrays in a body of JSON without a proven credential. */
  strangerJsonElementsMax: 65_536,
  /** Parts of a form, files among them. */
  formPartsMax: 64,
  /** A field of a form that is not a file, in bytes. */
  formFieldBytesMax: 262_144,

  // Requests to models.
  /** Messages of a conversation. */
  messagesMax: 4_096,
  /** Models that a request names besides the first, each of which may serve it. */
  fallbackModelsMax: 3,
  /** Tools that a request offers to the model. */
  toolsMax: 2_048,
  /** Images in a request. */
  imagesMax: 16,
  /** A name, a user or a stop sequence in a request, in characters. */
  nameCharactersMax: 512,
  /** A user as receipts have it, percent-encoded, in bytes. */
  userBytesMax: 1_024,
  /** Tags of a request, with the defaults of its key. */
  tagsMax: 16,
  /** The name of a tag, in characters. */
  tagNameCharactersMax: 64,
  /** The value of a tag, in characters. */
  tagValueCharactersMax: 512,
  /** The tags of a request together, percent-encoded, in bytes. */
  tagsBytesMax: 2_048,
  /** Stop sequences of the OpenAI dialect. */
  stopSequencesMax: 4,
  /** Stop sequences of the Anthropic dialect. */
  messageStopSequencesMax: 64,
  /** Entries of logit_bias. */
  logitBiasEntriesMax: 1_024,
  /** Texts that are embedded by one request. */
  embeddingInputsMax: 2_048,
  /** Numbers in an embedding that a request may ask for. */
  embeddingDimensionsMax: 65_536,
  /** Images that one request asks for. */
  imagesPerAnswerMax: 10,
  /** The shorter side of an image that is asked for, in pixels. */
  imageSideMin: 16,
  /** The longer side of an image that is asked for, in pixels. */
  imageSideMax: 8_192,
  /** Text that is spoken by a model whose catalog entry states no context, in characters. */
  speechCharactersMax: 4_096,
  /** Sound that is transcribed by one request, in seconds. */
  audioSecondsMax: 14_400,
  /** Documents that are ranked by one request. */
  rerankDocumentsMax: 10_000,
  /** The input of a priced tool, in bytes. */
  toolInputBytesMax: 262_144,
  /** The time that a priced tool has for its answer, in milliseconds. */
  toolTimeoutMs: 60_000,

  // Waiting for a provider.
  /** The time to connect to a provider, in milliseconds. */
  connectTimeoutMs: 5_000,
  /** The time until the first byte of a provider's answer, in milliseconds. */
  firstByteTimeoutMs: 120_000,
  /** The time between two pieces of a provider's answer, in milliseconds. */
  idleTimeoutMs: 60_000,
  /** The time that a request has in all, in milliseconds. */
  totalTimeoutMs: 600_000,

  // Video jobs.
  /** Video jobs of a key that are not charged yet. */
  videoJobsPerKeyMax: 2,
  /** Video jobs open concurrently in one proxy process. */
  videoJobsMax: 500,
  /** The time that a video job has, in milliseconds; its hold has to outlive it, so at most half of holdAgeMaxMs. */
  videoJobMaxMs: 1_800_000,
  /** How long a clip can be fetched, in milliseconds. */
  videoKeptMs: 1_800_000,
  /** The first frame of a video, in bytes. */
  videoImageBytesMax: 10_485_760,
  /** A side of the first frame of a video, in pixels. */
  videoImageSideMax: 8_192,
  /** Clips that a key fetches concurrently from one proxy process. */
  videoDownloadsPerKeyMax: 8,

  // Batch jobs.
  /** The time that a batch job has, in milliseconds. */
  batchLifetimeMs: 86_400_000,
  /** How long the result of a batch job can be read, in milliseconds. */
  batchResultKeptMs: 604_800_000,
  /** Batch jobs of a key that are open concurrently. */
  batchJobsPerKeyMax: 10_000,
  /** The URL of a webhook, in characters. */
  webhookUrlCharactersMax: 2_048,
  /** The time that the receiver of a webhook has for its answer, in milliseconds. */
  webhookTimeoutMs: 10_000,
  /** How long the delivery of a webhook is tried, in milliseconds. */
  webhookLifetimeMs: 259_200_000,

  // Paying per request.
  /** The time in which a payment has to settle, in milliseconds. */
  paymentTimeoutMs: 30_000,
  /** How long the price of a challenge holds, in milliseconds. */
  quoteWindowMs: 120_000,
  /** The least time that an authorization of a deposit has to be valid, in milliseconds. */
  depositWindowMinMs: 60_000,
  /** Deposits of an account by a signature in 24 hours, whose gas the gateway pays. */
  signedDepositsPerDay: 20,
  /** Withdrawals of an account in 24 hours. */
  withdrawalsPerDay: 100,
  /** Withdrawals of tokens of compute locks of an account in 24 hours. */
  lockWithdrawalsPerDay: 20,
  /** Payments of a wallet in 24 hours that failed on the chain or went back whole, whose gas is not paid; then it is refused. */
  uncoveredPaymentsPerDay: 50,
  /** Withdrawals of an account that are under way concurrently. */
  withdrawalsOpenMax: 5,

  // The account API.
  /** Keys of an account that are not revoked. */
  keysPerAccountMax: 1_000,
  /** Models that a key may be limited to. */
  modelsPerKeyMax: 500,
  /** Priced tools that a key may be limited to. */
  toolsPerKeyMax: 100,
  /** Wallets of an account. */
  walletsPerAccountMax: 20,
  /** How long a session lasts, in milliseconds. */
  sessionLifetimeMs: 86_400_000,
  /** Sessions of a wallet; the oldest one ends when there are more. */
  sessionsPerWalletMax: 20,
  /** How long a nonce can be signed, in milliseconds. */
  nonceLifetimeMs: 600_000,
  /** How long a code that links a wallet is good, in milliseconds. */
  linkCodeLifetimeMs: 86_400_000,
  /** How long an answer is kept under its Idempotency-Key, in milliseconds. */
  idempotencyKeptMs: 86_400_000,
  /** Entries on a page of a list. */
  listPageMax: 100,
  /** Receipts on a page. */
  receiptsPageMax: 100,
  /** Days that one query of usage spans. */
  usageDaysMax: 366,
  /** Rows of usage on a page. */
  usagePageMax: 1_000,
  /** Sub-keys of a platform key that are not revoked. */
  subKeysPerPlatformMax: 10_000,
  /** Agents of an account. */
  agentsPerAccountMax: 1_000,
  /** Requests of an agent that wait for approval. */
  approvalsPerAgentMax: 100,
  /** How long a request waits for approval, in milliseconds. */
  approvalLifetimeMs: 86_400_000,
  /** Days that the leaderboard spans. */
  leaderboardDaysMax: 90,
  /**
   * The least number of accounts in every figure of the public statistics; usage by fewer accounts is added to other
   * figures, or left out.
   */
  statsAccountsMin: 5,
  /** Days that one query of the public statistics of all models spans. */
  statsDaysMax: 31,
  /** Days that one query of those of one model spans. */
  statsModelDaysMax: 366,
  /** Days that one query of the price index spans. */
  indexDaysMax: 366,
  /** The least coin that a link holds, in units of 1e-9 USD. */
  linkUnitsMin: 10_000_000,
  /** The default lifetime of a link, in milliseconds. */
  linkLifetimeMs: 2_592_000_000,
  /** How long a link may last, in milliseconds. */
  linkLifetimeMaxMs: 31_536_000_000,
  /** Links of an account that are open concurrently. */
  linksPerAccountMax: 1_000,
  /** Open orders of an account for tokens of compute locks. */
  lockOrdersOpenMax: 100,
  /** Series of compute locks that an account holds or has orders for concurrently. */
  lockSeriesPerAccountMax: 20,
  /** The least that a limit order for tokens is worth at its price, in units of 1e-9 USD. */
  lockOrderUnitsMin: 10_000_000,
  /** Orders that one order for tokens may fill; the rest of it is then cancelled. */
  lockFillsPerOrderMax: 2_000,
  /** Minimum of a withdrawal of compute lock tokens, in micro-tokens. */
  lockWithdrawalMicrosMin: 1_000_000,
  /** Time before the end of a series in which withdrawals of its tokens are refused, in milliseconds. */
  lockWithdrawalCutoffMs: 21_600_000,
  /** How long the price of a quote for tokens holds, in milliseconds. */
  lockQuoteMs: 30_000,
  /** Prices of each side of a book of tokens that are shown. */
  lockBookLevelsMax: 50,
  /**
   * The most that API keys may pay to agents of other accounts in a day unless the account sets another amount, in units of
   * 1e-9 USD.
   */
  keyTransferUnitsPerDay: 10_000_000_000,
  /** The referrer's share of the spending of referred accounts, in basis points. */
  referralShareBps: 500,
  /** Registered providers of an account. */
  providersPerAccountMax: 20,
  /** How many days of incidents and of observed states are shown. */
  incidentDaysShown: 90,
} as const
