import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { AgentsLimits } from '../products/agents/limits.ts'

/** The limits of the public figures. */
export const STATISTICS_LIMITS = {
  /** Models in the basket of the price index, the first by name. */
  indexModelsMax: 100,
  /** Price sheets that are read together for the price index. */
  indexSheetsPage: 20,
} as const

export type StatisticsLimits = LimitsOf<typeof STATISTICS_LIMITS> & AgentsLimits
