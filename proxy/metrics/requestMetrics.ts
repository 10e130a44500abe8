import { FALLBACK_REASONS, type FallbackReason } from '../../contract/catalog/fallback.ts'
import type { ErrorCode } from '../../contract/errors/errors.ts'
import { emptyHistogram, type Histogram, observe } from '../../contract/std/exposition.ts'
import type { AccessLog, RequestRecorder } from './accessLog.ts'
import { addMembers } from './addMembers.ts'
import type { MetricsLimits } from './limits.ts'
import { ModelMetrics } from './modelMetrics.ts'

/** The meaning of one counter, and its name in Prometheus. */
export interface CounterRow {
  readonly name: string
  readonly help: string
  /** The label whose values are counted apart; they come from a closed set. */
  readonly label?: string
  /** The values of the label that every process has from its start on. */
  readonly values?: readonly string[]
  /** Upper bounds of the buckets of a histogram. */
  readonly buckets?: readonly number[]
}

const ALERTED_ERRORS: readonly string[] = [
  'admission_unavailable',
  'model_unavailable',
  'upstream_timeout',
  'upstream_unavailable',
] satisfies ErrorCode[]

/**
 * The counters of a worker. Their type, their start at zero, their sums over the workers, their text for Prometheus and the
 * page of the reference follow from these rows.
 */
export const COUNTERS = {
  requests: { name: 'sluice_requests_total', help: 'Requests for model endpoints' },
  streams: { name: 'sluice_streams_total', help: 'Streamed answers that began' },
  chunksOut: { name: 'sluice_stream_writes_total', help: 'Writes of streamed answers to clients' },
  holdsRefused: { name: 'sluice_holds_refused_total', help: 'Holds that admission refused' },
  chargedUnits: { name: 'sluice_charged_units_total', help: 'Units charged (1e-9 USD)' },
  clamped: { name: 'sluice_charges_clamped_total', help: 'Charges that a provider reported above the hold' },
  estimated: { name: 'sluice_usage_estimated_total', help: 'Charges by estimate, where no usage was reported' },
  fallbacks: {
    name: 'sluice_fallbacks_total',
    help: 'Requests that went on to another model, by the reason',
    label: 'reason',
    values: FALLBACK_REASONS,
  },
  ended: {
    name: 'sluice_requests_ended_total',
    help: 'Requests with a hold, by how they ended',
    label: 'status',
    values: ['ok', 'partial', 'failed', 'cut'],
  },
  errors: {
    name: 'sluice_errors_total',
    help: 'Errors answered, by row of the error table',
    label: 'error',
    values: ALERTED_ERRORS,
  },
  connectionFaults: {
    name: 'sluice_connection_faults_total',
    help: 'Failed connections to providers, by cause',
    label: 'cause',
  },
  contradictions: {
    name: 'sluice_usage_contradictions_total',
    help: 'Answers whose reported usage contradicts itself, by provider',
    label: 'provider',
  },
  routeFaults: { name: 'sluice_route_faults_total', help: 'Failed attempts, by provider', label: 'provider' },
  keysRefused: {
    name: 'sluice_provider_keys_refused_total',
    help: 'API keys of providers that were put out because the provider refused them, by provider and key',
    label: 'key',
  },
  keysLimited: {
    name: 'sluice_provider_keys_limited_total',
    help: 'API keys of providers that were put out because their quota was used up, by provider and key',
    label: 'key',
  },
  spans: {
    name: 'sluice_trace_spans_total',
    help: 'Spans of traces, by what became of them: exported, dropped because too many waited, or failed at the receiver',
    label: 'outcome',
    values: ['exported', 'dropped', 'failed'],
  },
  contentsDropped: {
    name: 'sluice_trace_contents_dropped_total',
    help: 'Requests whose content is not in their span because too much content waited for its export',
  },
  refusalRecords: {
    name: 'sluice_refusal_records_total',
    help: 'Records of refused requests for `sluice explain`, by what became of them: written, dropped beyond their bounds, or failed at Redis',
    label: 'outcome',
    values: ['written', 'dropped', 'failed'],
  },
  keyRecords: {
    name: 'sluice_key_records_total',
    help: 'Records of API keys that were not in memory, by the place that was asked last',
    label: 'source',
    values: ['redis', 'control'],
  },
  admissionSeconds: {
    name: 'sluice_admission_seconds',
    help: "From a request's arrival to its provider's being called",
    buckets: [0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25],
  },
} as const satisfies Record<string, CounterRow>

type CounterName = keyof typeof COUNTERS

/** How often each value of a label was counted. */
type Labelled<Value extends string = string> = Record<Value, number>

export function isHistogram(counted: Labelled | Histogram): counted is Histogram {
  return Array.isArray(counted['counts'])
}

type CounterOf<Row> = Row extends { readonly buckets: readonly number[] }
  ? Histogram
  : Row extends { readonly values: readonly (infer Value extends string)[] }
    ? Labelled<Value>
    : Row extends { readonly label: string }
      ? Labelled
      : number

/** Counters of one process: plain members, because they are touched on the hot path. The supervisor adds up the workers'. */
export type RequestCounters = { [Name in CounterName]: CounterOf<(typeof COUNTERS)[Name]> }

/** The rows with the counts of each. */
export function countersBy(counters: RequestCounters): [CounterRow, number | Labelled | Histogram][] {
  return (Object.keys(COUNTERS) as CounterName[]).map((name) => [COUNTERS[name], counters[name]])
}

/** Counters at zero. */
export function newCounters(): RequestCounters {
  const zeros = Object.entries<CounterRow>(COUNTERS).map(([name, row]) => [name, zeroOf(row)])
  return Object.fromEntries(zeros) as RequestCounters
}

function zeroOf({ label, values = [], buckets }: CounterRow): number | Labelled | Histogram {
  if (buckets !== undefined) return emptyHistogram(buckets)
  return label === undefined ? 0 : Object.fromEntries(values.map((value) => [value, 0]))
}

/** The sum of the counters of several processes. */
export function sumCounters(all: readonly RequestCounters[]): RequestCounters {
  const sum = newCounters()
  for (const counters of all) addCounters(sum, counters)
  return sum
}

/** Adds `more` to `sum`, member by member. */
export function addCounters(sum: RequestCounters, more: RequestCounters): void {
  addMembers(sum, more)
}

export class RequestMetrics {
  readonly counters = newCounters()
  readonly models: ModelMetrics
  /** Undefined where no access log is written. */
  readonly access: AccessLog | undefined
  /** The access log and the traces, where there are any: they take each request at its end. */
  readonly recorders: readonly RequestRecorder[]
  /** Answers that are read to their end now although the client has disconnected. */
  detached = 0

  constructor(limits: Pick<MetricsLimits, 'metricSeriesMax'>, access?: AccessLog, traces?: RequestRecorder) {
    this.access = access
    this.recorders = [access, traces].filter((one) => one !== undefined)
    this.models = new ModelMetrics(limits)
  }

  noteAdmission(ms: number): void {
    observe(this.counters.admissionSeconds, COUNTERS.admissionSeconds.buckets, ms / 1_000)
  }

  noteFallback(reason: FallbackReason): void {
    this.counters.fallbacks[reason]++
  }

  noteError(row: string): void {
    this.counters.errors[row] = (this.counters.errors[row] ?? 0) + 1
  }

  noteConnectionFault(cause: string): void {
    this.counters.connectionFaults[cause] = (this.counters.connectionFaults[cause] ?? 0) + 1
  }

  noteSpans(outcome: keyof RequestCounters['spans'], spans: number): void {
    this.counters.spans[outcome] += spans
  }

  noteContentDropped(): void {
    this.counters.contentsDropped++
  }

  /** @returns whether it is the provider's first */
  noteContradiction(providerId: string): boolean {
    const { contradictions } = this.counters
    contradictions[providerId] = (contradictions[providerId] ?? 0) + 1
    return contradictions[providerId] === 1
  }

  noteKeyFault(key: string, fault: 'rate' | 'account' | 'denied'): void {
    const counts = fault === 'rate' ? this.counters.keysLimited : this.counters.keysRefused
    counts[key] = (counts[key] ?? 0) + 1
  }

  noteRouteFault(providerId: string): void {
    this.counters.routeFaults[providerId] = (this.counters.routeFaults[providerId] ?? 0) + 1
  }
}
