/** Upper bounds of the histogram buckets for times that the gateway itself adds, in milliseconds. */
export const OVERHEAD_BUCKETS_MS = [0.25, 0.5, 1, 2, 5, 10, 50, 250] as const

/**
 * Counters of one process, plain numbers because they are touched on the hot path. The supervisor adds them up over the
 * workers and serves them; labels come from closed sets only.
 */
export interface RequestCounters {
  requests: number
  streams: number
  chunksOut: number
  holdsRefused: number
  /** Answers that are read to their end although the client has disconnected. */
  detached: number
  chargedUnits: number
  clamped: number
  estimated: number
  /** By receipt status: ok, partial, failed, cut. */
  readonly ended: Record<'ok' | 'partial' | 'failed' | 'cut', number>
  /** By row of the error table. */
  readonly errors: Record<string, number>
  /** By provider id. */
  readonly routeFaults: Record<string, number>
  /** Failed connections to providers, by cause. */
  readonly connectionFaults: Record<string, number>
  /** Usage reports that contradict themselves, by provider id. */
  readonly contradictions: Record<string, number>
  /** Time from the request to the provider's being called, by bucket; the last one is everything above. */
  readonly overhead: number[]
  overheadSumMs: number
}

/** Counters at zero. */
export function newCounters(): RequestCounters {
  return {
    requests: 0,
    streams: 0,
    chunksOut: 0,
    holdsRefused: 0,
    detached: 0,
    chargedUnits: 0,
    clamped: 0,
    estimated: 0,
    ended: { ok: 0, partial: 0, failed: 0, cut: 0 },
    errors: {},
    routeFaults: {},
    connectionFaults: {},
    contradictions: {},
    overhead: new Array<number>(OVERHEAD_BUCKETS_MS.length + 1).fill(0),
    overheadSumMs: 0,
  }
}

/** Adds `more` to `sum`, member by member. */
export function addCounters(sum: RequestCounters, more: RequestCounters): void {
  for (const name of NUMBERS) sum[name] += more[name]
  for (const name of ['ended', 'errors', 'routeFaults', 'connectionFaults', 'contradictions'] as const) {
    const into: Record<string, number> = sum[name]
    for (const [label, count] of Object.entries(more[name])) into[label] = (into[label] ?? 0) + count
  }
  for (let i = 0; i < sum.overhead.length; i++)
    sum.overhead[i] = (sum.overhead[i] as number) + (more.overhead[i] as number)
}

type NumberCounter = {
  [Name in keyof RequestCounters]: RequestCounters[Name] extends number ? Name : never
}[keyof RequestCounters]

const NUMBERS: readonly NumberCounter[] = [
  'requests',
  'streams',
  'chunksOut',
  'holdsRefused',
  'detached',
  'chargedUnits',
  'clamped',
  'estimated',
  'overheadSumMs',
]

export class RequestMetrics {
  readonly counters = newCounters()

  noteOverhead(ms: number): void {
    let bucket = 0
    while (bucket < OVERHEAD_BUCKETS_MS.length && ms > (OVERHEAD_BUCKETS_MS[bucket] as number)) bucket++
    this.counters.overhead[bucket] = (this.counters.overhead[bucket] as number) + 1
    this.counters.overheadSumMs += ms
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
