import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { CatalogLimits } from '../catalog/limits.ts'

/** The limits of keeping the admission state in Redis. */
export const ADMISSION_LIMITS = {
  /** Interval of the checks that Redis has the admission state, in milliseconds. */
  admissionCheckMs: 1_000,
  /** Interval of the polls for changes that the book has made, in milliseconds. */
  admissionPollMs: 250,
  /** Such changes that are applied in one step. */
  admissionEventsBatchMax: 500,
  /** How long a request that made such a change waits until it is applied, in milliseconds. */
  admissionApplyMs: 500,
  /** How long a command that made such a change waits until it is applied, in milliseconds. */
  admissionCommandMs: 3_000,
  /** Rows that are read or written together while a shard is loaded. */
  admissionLoadBatchMax: 500,
  /** Interval at which lease reports are requested again while a loading waits for them, in milliseconds. */
  leaseReportAskMs: 200,
  /** The time between two checks for owners that have reported, in milliseconds. */
  leaseReportPollMs: 20,
  /** How long a loading waits if no proxy receives its calls, in milliseconds; proxies that lost Redis are back by then. */
  leaseReportersMs: 1_200,
  /** The time between two searches for holds without an owner, in milliseconds. */
  orphanCheckMs: 1_000,
  /** Interval of the scans of all holds, in milliseconds. */
  ownerScanMs: 60_000,
  /** Interval of the removals of grants that are spent or have expired, in milliseconds. */
  grantSweepMs: 60_000,
  /** How long a debit waits for units that idle in leases when it lacks them, in milliseconds. */
  recallMs: 50,
  /** Interval of the tries to take them, in milliseconds. */
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

export type AdmissionLimits = LimitsOf<typeof ADMISSION_LIMITS> & CatalogLimits
