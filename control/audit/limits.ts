import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { BatchLimits } from '../batch/limits.ts'
import type { HoldersLimits } from '../products/holders/limits.ts'
import type { LocksLimits } from '../products/locks/limits.ts'
import type { SettlementsLimits } from '../products/settlements/limits.ts'
import type { RecordsLimits } from '../records/limits.ts'

/** The limits of the audit. */
export const AUDIT_LIMITS = {
  /** Rows that are read together. */
  auditPageMax: 1_000,
  /** Positions of one log whose leaves are read together, of 32 bytes each. */
  auditLeafPositions: 16_384,
  /** Receipts that one statement adds up. */
  auditSumReceipts: 50_000,
  /** Rows of sums whose digest is taken together. */
  auditDigestRows: 5_000,
  /** One statement of an audit, ms: some read a whole table. */
  auditStatementMs: 86_400_000,
  /**
   * How much a request may be held before its report was made or after it has ended, ms: clocks differ, and a hold may take a
   * while after the routes were chosen.
   */
  auditReportSlackMs: 60_000,
  /** How often a check of data that is changing is repeated before its finding counts. */
  auditRechecksMax: 10,
} as const

export type AuditLimits = LimitsOf<typeof AUDIT_LIMITS> &
  BatchLimits &
  HoldersLimits &
  LocksLimits &
  SettlementsLimits &
  RecordsLimits
