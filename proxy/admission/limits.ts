import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The number of retries within the time that recalled leases are waited for. */
export const RECALL_STEPS = 5

/** The limits of holds, leases, settlements and the journal. */
export const ADMISSION_LIMITS = {
  /** The wait before settlements that Redis did not take are retried, in milliseconds. */
  settleRetryMs: 250,
  /** Holds with an unknown outcome that a process looks for. */
  strayHoldsMax: 10_000,
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
  /** How long an unused lease rests whose money is a small part of what is free, in milliseconds. */
  leaseRestMs: 300_000,
  /** The holds that such a lease is for at most. */
  leaseRestHolds: 8,
  /** Such a lease is at most one part in so many of the account's free balance and of the rest of each cap. */
  leaseRestParts: 1_000,
  /** Permits that a key's rate has to have left for a request on such a lease to take its own only with its delivery. */
  leaseRestPermits: 50,
  /** Leases that rest in a process; beyond them the one unused for longest is given back. */
  leaseRestsMax: 10_000,
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
} as const

export type AdmissionLimits = LimitsOf<typeof ADMISSION_LIMITS> & ContractLimits
