import type { LimitsOf } from '../../../contract/limits/limits.ts'
import type { ApiLimits } from '../../api/limits.ts'

/** The limits of registered providers. */
export const MARKETPLACE_LIMITS = {
  /** The time that a registered provider has for its answer, in milliseconds. */
  providerCheckMs: 1_200,
  /** The answer of a registered provider, in bytes. */
  providerCheckBytesMax: 1_048_576,
  /** Models of a registered provider that are shown. */
  providerModelsMax: 500,
  /** Interval at which the measurements of registered providers are judged, in milliseconds. */
  providerJudgeMs: 1_000,
  /** Window of the measurements that decide whether a provider keeps serving, in milliseconds. */
  providerWindowMs: 600_000,
  /** Requests, or timed streams, that are needed before their rates decide. */
  providerRequestsMin: 20,
  /** Reports of usage beyond what the gateway counted that are needed before their rate decides. */
  providerOverReportsMin: 3,
  /** How many of a million requests may have such a report. */
  providerOverReportPpmMax: 10_000,
  /** Number of suspensions after which only the operator can resume a provider. */
  providerSuspensionsMax: 3,
  /** How long a first suspension lasts, in milliseconds; each one lasts twice as long as the one before. */
  providerCoolDownMs: 3_600_000,
  /** How long measures are kept, in milliseconds; longer than any probation. */
  providerMeasuresKeptMs: 2_764_800_000,
  /** Interval of the payments of registered providers, in milliseconds. */
  providerPayMs: 60_000,
  /** Entries of the usage log that are counted for registered providers in one step. */
  providerPayBatchMax: 50_000,
  /** Interval of the comparisons of a provider's answers, in milliseconds. */
  providerProbeMs: 300_000,
  /** The time that an answer to a comparison has, in milliseconds. */
  providerProbeTimeoutMs: 20_000,
  /** An answer to a comparison, in bytes. */
  providerProbeBytesMax: 1_048_576,
  /** Output tokens of an answer to a comparison that are paid for. */
  providerProbeTokens: 512,
  /** Comparisons that are needed before their outcome decides. */
  providerProbesMin: 5,
  /** How long comparisons count, in milliseconds. */
  providerProbeWindowMs: 86_400_000,
  /** Tokens in common, of a million, from which on two answers count as the same. */
  providerSameAnswerPpm: 500_000,
  /** Days that the public record of a provider shows. */
  providerRecordDays: 30,
} as const

export type MarketplaceLimits = LimitsOf<typeof MARKETPLACE_LIMITS> & ApiLimits
