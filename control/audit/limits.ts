/** The limits of the audit. */
export const AUDIT_LIMITS = {
  /** Rows that are read at once. */
  auditPageMax: 1_000,
  /** How often a check of what is being changed is repeated before its finding counts. */
  auditRechecksMax: 10,
} as const
