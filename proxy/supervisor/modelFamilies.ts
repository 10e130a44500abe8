import type { Exposition, Histogram, MetricLabels } from '../../contract/std/exposition.ts'
import { addMembers } from '../metrics/addMembers.ts'
import {
  FIRST_TOKEN_SECONDS,
  OPERATION_SECONDS,
  OUTPUT_TOKEN_SECONDS,
  operationName,
  TOKEN_COUNTS,
  TOKEN_TYPES,
} from '../metrics/modelBuckets.ts'
import { labelsOf, type ModelCounts, type ModelSeries } from '../metrics/modelMetrics.ts'

const LABELS = ['model', 'provider', 'key', 'operation']
const GEN_AI_LABELS = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model']
const MILLISECONDS = 1_000

type Samples = readonly (readonly [labels: MetricLabels, value: number])[]

/** The counters by model: what there is of one series, as labels and value. */
const COUNTER_FAMILIES: readonly {
  readonly name: string
  readonly help: string
  readonly label?: string
  readonly read: (series: ModelSeries) => Samples
}[] = [
  {
    name: 'sluice_model_requests_total',
    help: 'Requests with a hold, by model, provider, key of the provider and operation, and by how they ended',
    label: 'status',
    read: ({ requests }) => Object.entries(requests).map(([status, count]) => [{ status }, count]),
  },
  {
    name: 'sluice_model_errors_total',
    help: 'Of these, those that ended with an error, by its code',
    label: 'error',
    read: ({ errors }) => Object.entries(errors).map(([error, count]) => [{ error }, count]),
  },
  {
    name: 'sluice_model_tokens_total',
    help: 'Tokens that were billed, by type; the types do not overlap, except that reasoning is a part of output',
    label: 'type',
    read: ({ tokens }) => TOKEN_TYPES.map(({ type, field }) => [{ type }, tokens[field]]),
  },
  {
    name: 'sluice_model_charged_units_total',
    help: 'Units charged (1e-9 USD)',
    read: ({ chargedUnits }) => [[{}, chargedUnits]],
  },
  {
    name: 'sluice_model_gateway_seconds_total',
    help: "Time from the arrival of requests to their provider's being called",
    read: ({ admissionMs }) => [[{}, admissionMs / MILLISECONDS]],
  },
  {
    name: 'sluice_model_upstream_seconds_total',
    help: 'Time from then to the end of the requests',
    read: ({ upstreamMs }) => [[{}, upstreamMs / MILLISECONDS]],
  },
]

/** The histograms of the OpenTelemetry conventions, which have no label for the key of a provider. */
const HISTOGRAM_FAMILIES: readonly {
  readonly name: string
  readonly help: string
  readonly bounds: readonly number[]
  readonly label?: string
  readonly read: (series: ModelSeries) => readonly (readonly [MetricLabels, Histogram])[]
}[] = [
  {
    name: 'gen_ai_client_token_usage',
    help: 'Billed tokens of a request, by type',
    bounds: TOKEN_COUNTS,
    label: 'gen_ai_token_type',
    read: ({ inputTokens, outputTokens }) => [
      [{ gen_ai_token_type: 'input' }, inputTokens],
      [{ gen_ai_token_type: 'output' }, outputTokens],
    ],
  },
  {
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Time of a request from its arrival to its end; error_type is the class of its error, and absent without one',
    bounds: OPERATION_SECONDS,
    label: 'error_type',
    read: ({ duration, failedDuration }) => [
      [{}, duration],
      ...Object.entries(failedDuration).map(([type, durations]) => [{ error_type: type }, durations] as const),
    ],
  },
  {
    name: 'gen_ai_server_time_to_first_token_seconds',
    help: 'Time from the arrival of a streamed request to the first output of its answer',
    bounds: FIRST_TOKEN_SECONDS,
    read: ({ firstToken }) => [[{}, firstToken]],
  },
  {
    name: 'gen_ai_server_time_per_output_token_seconds',
    help: 'Mean time of an output token after the first one, of streamed requests that ended whole',
    bounds: OUTPUT_TOKEN_SECONDS,
    read: ({ outputToken }) => [[{}, outputToken]],
  },
]

/** Writes what was counted by model. */
export function writeModels(out: Exposition, counts: ModelCounts): void {
  const all = Object.entries(counts)
  for (const { name, help, label, read } of COUNTER_FAMILIES) {
    out.family(name, help, 'counter', label === undefined ? LABELS : [...LABELS, label])
    for (const [series, counted] of all) {
      for (const [labels, value] of read(counted)) out.sample(value, { ...labelsOf(series), ...labels })
    }
  }
  const merged = Object.values(byConvention(counts))
  for (const { name, help, label, bounds, read } of HISTOGRAM_FAMILIES) {
    out.family(name, help, 'histogram', label === undefined ? GEN_AI_LABELS : [...GEN_AI_LABELS, label])
    for (const { labels, series } of merged) {
      for (const [more, histogram] of read(series)) out.histogram(bounds, histogram, { ...labels, ...more })
    }
  }
}

interface Merged {
  readonly labels: MetricLabels
  readonly series: ModelSeries
}

/** The series added up over the keys of their providers, and over endpoints that are one operation of the conventions. */
function byConvention(counts: ModelCounts): Record<string, Merged> {
  const merged: Record<string, Merged> = {}
  for (const [name, series] of Object.entries(counts)) {
    const { model, provider, operation } = labelsOf(name)
    const labels = {
      gen_ai_operation_name: operationName(operation),
      gen_ai_provider_name: provider,
      gen_ai_request_model: model,
    }
    const id = Object.values(labels).join('\u0000')
    const known = merged[id]
    if (known === undefined) merged[id] = { labels, series: structuredClone(series) }
    else addMembers(known.series, series)
  }
  return merged
}
