import { ERRORS, type ErrorType, isErrorCode } from '../../contract/errors/errors.ts'
import { NO_USAGE, type TokenUsage } from '../../contract/money/charge.ts'
import { CLIENT_GONE } from '../../contract/money/receiptStatus.ts'
import { emptyHistogram, type Histogram, observe } from '../../contract/std/exposition.ts'
import type { StatusName } from '../../contract/wire/settlementNames.ts'
import { addMembers } from './addMembers.ts'
import type { MetricsLimits } from './limits.ts'
import { FIRST_TOKEN_SECONDS, OPERATION_SECONDS, OUTPUT_TOKEN_SECONDS, TOKEN_COUNTS } from './modelBuckets.ts'

const MILLISECONDS = 1_000
const SEPARATOR = '\u0000'
/** The label of whatever is beyond the bound. */
const OTHER = 'other'
/** The error type of the conventions for whatever has no class. */
const OTHER_ERROR = '_OTHER'

export type SeriesBound = Pick<MetricsLimits, 'metricSeriesMax'>

/** The labels of a request. */
export interface ModelLabels {
  /** Of the catalog. */
  readonly model: string
  /** '' for a request that no provider has answered. */
  readonly provider: string
  /** The id of the provider's key; '' where it has none. */
  readonly key: string
  readonly operation: string
}

/** A request with a hold, at its end. */
export interface EndedRequest extends ModelLabels {
  readonly status: StatusName
  /** Of the error table; null for none. */
  readonly errorCode: string | null
  readonly usage: TokenUsage
  /** 1e-9 USD. */
  readonly chargedUnits: number
  readonly streamed: boolean
  readonly durationMs: number
  /** From its arrival to the provider's being called; 0 where none was. */
  readonly admissionMs: number
  /** From its arrival to the first byte of the answer; 0 for none. */
  readonly firstByteMs: number
}

/** The counts of the requests with the same labels: plain members, which are added up over the workers. */
export interface ModelSeries {
  /** By status. */
  readonly requests: Record<string, number>
  /** By error code. */
  readonly errors: Record<string, number>
  /** By type of token, under the names of TOKEN_TYPES. */
  readonly tokens: { -readonly [Type in keyof TokenUsage]: number }
  chargedUnits: number
  admissionMs: number
  upstreamMs: number
  readonly inputTokens: Histogram
  readonly outputTokens: Histogram
  /** Of requests that ended without an error. */
  readonly duration: Histogram
  /** Of the others, by error type. */
  readonly failedDuration: Record<string, Histogram>
  readonly firstToken: Histogram
  readonly outputToken: Histogram
}

interface KnownSeries extends ModelLabels {
  readonly series: ModelSeries
}

/** Series by their labels, in one text each; see labelsOf. */
export type ModelCounts = Record<string, ModelSeries>

/** The labels of a series. */
export function labelsOf(key: string): ModelLabels {
  const [model = '', provider = '', providerKey = '', operation = ''] = key.split(SEPARATOR)
  return { model, provider, key: providerKey, operation }
}

/**
 * Counts ended requests by model, provider, key of the provider and operation. Requests beyond the bound of series are
 * counted with the labels `other`.
 */
export class ModelMetrics {
  readonly counts: ModelCounts = {}
  /** The series by model once more: to compare three texts takes less than to write and hash their joint name. */
  private readonly byModel = new Map<string, KnownSeries[]>()
  private readonly seriesMax: number
  private seriesCount = 0

  constructor({ metricSeriesMax }: SeriesBound) {
    this.seriesMax = metricSeriesMax
  }

  note(ended: EndedRequest): void {
    const { usage, durationMs, firstByteMs, admissionMs } = ended
    const series = this.seriesOf(ended)
    series.requests[ended.status] = (series.requests[ended.status] ?? 0) + 1
    if (ended.errorCode !== null) series.errors[ended.errorCode] = (series.errors[ended.errorCode] ?? 0) + 1
    series.chargedUnits += ended.chargedUnits
    series.admissionMs += admissionMs
    if (admissionMs > 0) series.upstreamMs += Math.max(0, durationMs - admissionMs)
    noteTokens(series, usage)
    observe(durationOf(series, ended), OPERATION_SECONDS, durationMs / MILLISECONDS)
    if (!ended.streamed || firstByteMs === 0) return
    observe(series.firstToken, FIRST_TOKEN_SECONDS, firstByteMs / MILLISECONDS)
    if (ended.status !== 'ok' || usage.output < 2) return
    const perTokenMs = Math.max(0, durationMs - firstByteMs) / (usage.output - 1)
    observe(series.outputToken, OUTPUT_TOKEN_SECONDS, perTokenMs / MILLISECONDS)
  }

  private seriesOf(labels: ModelLabels): ModelSeries {
    const known = this.byModel.get(labels.model)
    if (known === undefined) return this.newSeries(labels)
    for (const one of known) if (isOf(one, labels)) return one.series
    return this.newSeries(labels)
  }

  private newSeries(labels: ModelLabels): ModelSeries {
    const { counts } = this
    const isOther = this.seriesCount >= this.seriesMax
    const name = isOther ? restOf(labels) : nameOf(labels)
    if (counts[name] === undefined) this.seriesCount++
    counts[name] ??= emptySeries()
    const series = counts[name]
    if (isOther) return series
    const { model, provider, key, operation } = labels
    const known = this.byModel.get(model) ?? []
    known.push({ model, provider, key, operation, series })
    this.byModel.set(model, known)
    return series
  }
}

function isOf(one: KnownSeries, { provider, key, operation }: ModelLabels): boolean {
  return one.provider === provider && one.key === key && one.operation === operation
}

/**
 * The error type of a request: the class of its error, so that the values are few; '' for none. A client that has disconnected is
 * no error.
 */
function errorTypeOf({
  status,
  errorCode,
}: Pick<EndedRequest, 'status' | 'errorCode'>): ErrorType | typeof OTHER_ERROR | '' {
  if (status === 'ok' || errorCode === CLIENT_GONE) return ''
  return errorCode !== null && isErrorCode(errorCode) ? ERRORS[errorCode].type : OTHER_ERROR
}

/** Adds the counts of a process to `sum`, which has the same bound of series. */
export function addModels(sum: ModelCounts, more: ModelCounts, { metricSeriesMax }: SeriesBound): void {
  let seriesCount = Object.keys(sum).length
  for (const [name, series] of Object.entries(more)) {
    const room = sum[name] === undefined && seriesCount >= metricSeriesMax ? restOf(labelsOf(name)) : name
    if (sum[room] === undefined) seriesCount++
    sum[room] ??= emptySeries()
    addMembers(sum[room], series)
  }
}

/** The series of what is beyond the bound, one for each operation. */
function restOf({ operation }: ModelLabels): string {
  return nameOf({ model: OTHER, provider: OTHER, key: OTHER, operation })
}

function nameOf({ model, provider, key, operation }: ModelLabels): string {
  return model + SEPARATOR + provider + SEPARATOR + key + SEPARATOR + operation
}

/** The durations that a request is among. */
function durationOf({ duration, failedDuration }: ModelSeries, ended: EndedRequest): Histogram {
  const type = errorTypeOf(ended)
  if (type === '') return duration
  failedDuration[type] ??= emptyHistogram(OPERATION_SECONDS)
  return failedDuration[type]
}

// Member by member: a loop over their names takes five times as long.
function noteTokens({ tokens, inputTokens, outputTokens }: ModelSeries, usage: TokenUsage): void {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning } = usage
  tokens.input += input
  tokens.cachedInput += cachedInput
  tokens.cacheWrite5m += cacheWrite5m
  tokens.cacheWrite1h += cacheWrite1h
  tokens.output += output
  tokens.reasoning += reasoning
  const prompt = input + cachedInput + cacheWrite5m + cacheWrite1h
  if (prompt > 0) observe(inputTokens, TOKEN_COUNTS, prompt)
  if (output > 0) observe(outputTokens, TOKEN_COUNTS, output)
}

function emptySeries(): ModelSeries {
  return {
    requests: {},
    errors: {},
    tokens: { ...NO_USAGE },
    chargedUnits: 0,
    admissionMs: 0,
    upstreamMs: 0,
    inputTokens: emptyHistogram(TOKEN_COUNTS),
    outputTokens: emptyHistogram(TOKEN_COUNTS),
    duration: emptyHistogram(OPERATION_SECONDS),
    failedDuration: {},
    firstToken: emptyHistogram(FIRST_TOKEN_SECONDS),
    outputToken: emptyHistogram(OUTPUT_TOKEN_SECONDS),
  }
}
