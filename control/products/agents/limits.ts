import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { IdentityLimits } from '../../identity/limits.ts'

/** The limits of agents. */
export const AGENTS_LIMITS = {
  /** How long a leaderboard that was read is shown, in milliseconds. */
  leaderboardKeptMs: 10_000,
} as const

export type AgentsLimits = LimitsOf<typeof AGENTS_LIMITS> & IdentityLimits
