import type { LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of the log. */
export const METRICS_LIMITS = {
  /** How long refused requests are gathered for one line of the log, in milliseconds. */
  refusalLogMs: 1_000,
  /** Request ids in one such line. */
  refusalLogIdsMax: 100,
  /** Interval of the log lines about an outage that goes on, in milliseconds. */
  outageLogMs: 60_000,
  /** Series of metrics by model, provider, key of the provider and operation; requests beyond it count as `other`. */
  metricSeriesMax: 2_000,
  /** The time to the first token from which a stream is slow, in milliseconds: a bound of its metric, the last of which is 10,000. */
  slowProviderMs: 10_000,
  /** Interval at which the streams that ended are looked at, in milliseconds. */
  slowProviderCheckMs: 30_000,
  /** Streams of a model at a provider that it takes to judge the provider. */
  slowProviderStreamsMin: 5,
  /** Lines of the access log that a process keeps in memory while they are written, in bytes; beyond it lines are dropped. */
  accessLogBytesMax: 8_388_608,
  /** Names of models, providers, keys and errors whose text in the access log is kept for the next lines. */
  accessLogNamesMax: 1_000,
  /** How long lines of the access log are gathered, in milliseconds. */
  accessLogFlushMs: 1_000,
} as const

export type MetricsLimits = LimitsOf<typeof METRICS_LIMITS>
