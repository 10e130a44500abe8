import type { LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of the catalog and of the keys that it names. */
export const CATALOG_LIMITS = {
  /** Interval of the checks whether files with keys of providers have changed, in milliseconds. */
  keyFileCheckMs: 1_000,
} as const

/** The limits of this room. */
export type CatalogLimits = LimitsOf<typeof CATALOG_LIMITS>
