/** The limits of keeping the admission state in Redis. */
export const ADMISSION_LIMITS = {
  /** The time from one check that Redis has the admission state to the next, in milliseconds. */
  admissionCheckMs: 1_000,
  /** The time from one look for changes that the book has made to the next, in milliseconds. */
  admissionPollMs: 250,
  /** Such changes that are applied in one step. */
  admissionEventsBatchMax: 500,
  /** How long a request that made such a change waits until it is applied, in milliseconds. */
  admissionApplyMs: 500,
  /** Rows that are read or written at once while a shard is loaded. */
  admissionLoadBatchMax: 500,
  /** The time from one call for the reports of leases to the next while a loading waits for them, in milliseconds. */
  leaseReportAskMs: 200,
  /** The time between two checks for owners that have reported, in milliseconds. */
  leaseReportPollMs: 20,
  /** How long a loading waits if no proxy receives its calls, in milliseconds; proxies that lost Redis are back by then. */
  leaseReportersMs: 1_200,
  /** The time between two searches for holds without an owner, in milliseconds. */
  orphanCheckMs: 1_000,
  /** The time from one look at every hold there is to the next, in milliseconds. */
  ownerScanMs: 60_000,
  /** The time from one removal of grants that are spent or have expired to the next, in milliseconds. */
  grantSweepMs: 60_000,
  /** How long a debit waits for units that idle in leases when it lacks them, in milliseconds. */
  recallMs: 50,
  /** The time from one try to take them to the next, in milliseconds. */
  recallStepMs: 5,
  /** The time that Redis has to take a debit, in milliseconds; a transaction waits for it. */
  debitTakeMs: 1_000,
  /** The time between two searches for unfinished debits, in milliseconds. */
  debitCheckMs: 2_000,
  /** The age at which a debit that is not booked is given back, in milliseconds. */
  debitVoidMs: 10_000,
  /** How long a debit that was given back is remembered, so that it is not booked after all, in milliseconds. */
  debitVoidKeptMs: 86_400_000,
} as const
