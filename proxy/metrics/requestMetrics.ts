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
  ended: {
    name: 'sluice_requests_ended_total',
    help: 'Requests with a hold, by how they ended',
    label: 'status',
    values: ['ok', 'partial', 'failed', 'cut'],
  },
  errors: { name: 'sluice_errors_total', help: 'Errors answered, by row of the error table', label: 'error' },
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
  admissionSeconds: {
    name: 'sluice_admission_seconds',
    help: "From a request's arrival to its provider's being called",
    buckets: [0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25],
  },
} as const satisfies Record<string, CounterRow>

type CounterName = keyof typeof COUNTERS

/** How often each value of a label was counted. */
type Labelled<Value extends string = string> = Record<Value, number>

/** A histogram of one process. */
export interface Histogram {
  /** By bucket; the last one is everything above their bounds. */
  readonly counts: number[]
  sum: number
}

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
  if (buckets !== undefined) return { counts: new Array<number>(buckets.length + 1).fill(0), sum: 0 }
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

function addMembers(sum: object, more: object): void {
  for (const [name, value] of Object.entries(more) as [string, number | object][]) {
    const before: unknown = Reflect.get(sum, name)
    if (typeof value === 'number') Reflect.set(sum, name, (typeof before === 'number' ? before : 0) + value)
    else if (typeof before === 'object' && before !== null) addMembers(before, value)
  }
}

export class RequestMetrics {
  readonly counters = newCounters()
  /** Answers that are read to their end now although the client has disconnected. */
  detached = 0

  noteAdmission(ms: number): void {
    const { buckets } = COUNTERS.admissionSeconds
    const { admissionSeconds } = this.counters
    const seconds = ms / 1_000
    let bucket = 0
    while (bucket < buckets.length && seconds > (buckets[bucket] as number)) bucket++
    admissionSeconds.counts[bucket] = (admissionSeconds.counts[bucket] as number) + 1
    admissionSeconds.sum += seconds
  }

  noteError(row: string): void {
    this.counters.errors[row] = (this.counters.errors[row] ?? 0) + 1
  }

  noteConnectionFault(cause: string): void {
    this.counters.connectionFaults[cause] = (this.counters.connectionFaults[cause] ?? 0) + 1
  }

  /** @returns whether it is the provider's first */
  noteContradiction(providerId: string): boolean {
    const { contradictions } = this.counters
    contradictions[providerId] = (contradictions[providerId] ?? 0) + 1
    return contradictions[providerId] === 1
  }

  noteRouteFault(providerId: string): void {
    this.counters.routeFaults[providerId] = (this.counters.routeFaults[providerId] ?? 0) + 1
  }
}
