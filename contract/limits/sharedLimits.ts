/** The limits that the proxy and control have to agree on. Operators change them with SLUICE_LIMITS, the same everywhere. */
export const SHARED_LIMITS = {
  // Holds and settlements.
  /** Holds or settlements that go to Redis in one call. */
  holdBatchMax: 256,
  /** How long Redis remembers the result of a settlement, so that a repeated one is not charged twice, in minutes. */
  rememberResultMinutes: 5,
  /** How long a proxy whose hold was lost with Redis may take to report how the request ended, in milliseconds. */
  lostHoldWatchMs: 20_000,
  /** Entries of a ledger stream, most of them deliveries of many requests; beyond them no more are admitted. */
  ledgerStreamEntriesMax: 100_000,
  /** The age at which a hold is voided, whichever process took it, in milliseconds. */
  holdAgeMaxMs: 3_600_000,
  /** Interval of the heartbeats of a proxy process, in milliseconds. */
  heartbeatIntervalMs: 1_000,
  /** How long a proxy process may miss heartbeats before its leases are taken back, in milliseconds. */
  heartbeatTimeoutMs: 15_000,
  /** How long it may miss heartbeats before single holds are voided whose end its journal may know, in milliseconds. */
  orphanVoidMs: 600_000,

  /** How long the end of a proxy process is remembered with its leases, in milliseconds. */
  ownerKeptMs: 86_400_000,
  /** How long a loading of the admission state waits for the proxy processes to report their leases, in milliseconds. */
  leaseReportMs: 3_000,
  // Redis and the calls that cross it.
  /** The time that Redis has for an answer, in milliseconds. */
  redisTimeoutMs: 2_000,
  /** The time that control has for the answer to a call, in milliseconds. */
  rpcTimeoutMs: 5_000,
  /** Calls that one control works on concurrently, half of them calls that requests to models wait for. */
  rpcConcurrencyMax: 32,
  /** Calls that may wait in a stream. */
  rpcStreamEntriesMax: 10_000,
  /** Keys whose records one call asks for. */
  keysPerCallMax: 256,
  /** The time of a request to the account API in milliseconds; it leaves room to answer 503 within two seconds. */
  apiTimeoutMs: 1_800,
  /** Requests to the account API that one control works on concurrently. */
  apiConcurrencyMax: 8,
  /** Requests to the account API that may wait in their stream. */
  apiStreamEntriesMax: 1_000,
  /** Batch jobs that one control takes in concurrently. */
  batchSubmitsMax: 8,

  // Paying per request.
  /** Payments by signed authorization that settle concurrently in one control. */
  paymentsInFlightMax: 256,
  /** The margin that control adds to the time of a payment before it gives up, in milliseconds. */
  paymentMarginMs: 5_000,

  // Clocks.
  /** How far the clock of a machine may differ from Redis's before it is logged, in milliseconds. */
  clockDifferenceMaxMs: 2_000,

  // Stopping.
  /** How long a proxy that gets SIGTERM still serves while /ready answers 503, so that load balancers notice, in milliseconds. */
  leaveNoticeMs: 5_000,
  /** How long requests under way may continue when a proxy process is stopped, in milliseconds. */
  drainGraceMs: 10_000,
  /** The time for the remaining steps when a process is stopped, in milliseconds. */
  shutdownTimeoutMs: 5_000,
  /** How long the answer to a client waits for its settlement, in milliseconds. */
  settleTimeoutMs: 2_000,
} as const
