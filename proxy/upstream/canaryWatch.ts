import type { Route } from '../catalog/pricedItem.ts'

/** The time that a token of output may take after the first one. */
export const OUTPUT_TOKEN_MS = 50
/** The time that a byte of it may take: a token has four. */
const OUTPUT_BYTE_MS = 12

/** Measurements of a registered provider for a model; see RouteMeasure. */
export interface CanaryMeasure {
  readonly provider: string
  readonly model: string
  requests: number
  errors: number
  stalls: number
  overReports: number
  timed: number
  slow: number
  firstOutputMs: number
}

/** Accumulates measurements of registered providers until they are reported to control. */
export class CanaryWatch {
  private measures = new Map<string, CanaryMeasure>()

  /**
   * Follows a request to a route.
   * @param streamed its first output comes before the rest
   * @returns undefined for routes of the catalog
   */
  begin(route: Route, streamed: boolean, nowMs: number): CanaryAttempt | undefined {
    const { registered } = route
    if (registered === undefined) return undefined
    return new CanaryAttempt(this, route, registered.firstOutputMaxMs, streamed, nowMs)
  }

  /** The measurements of a route. @throws Error for a route of the catalog */
  of({ provider, registered }: Route): CanaryMeasure {
    if (registered === undefined) throw new Error(`${provider.id} is no registered provider`)
    return this.at(provider.id, registered.model)
  }

  /** The measurements since the last call. */
  take(): readonly CanaryMeasure[] {
    const taken = [...this.measures.values()]
    this.measures = new Map()
    return taken
  }

  /** Puts back measurements that could not be reported. */
  keep(taken: readonly CanaryMeasure[]): void {
    for (const kept of taken) {
      const measure = this.at(kept.provider, kept.model)
      measure.requests += kept.requests
      measure.errors += kept.errors
      measure.stalls += kept.stalls
      measure.overReports += kept.overReports
      measure.timed += kept.timed
      measure.slow += kept.slow
      measure.firstOutputMs += kept.firstOutputMs
    }
  }

  // As many as there are providers and models that serve, which control bounds.
  private at(provider: string, model: string): CanaryMeasure {
    const name = `${provider} ${model}`
    let measure = this.measures.get(name)
    if (measure === undefined) {
      measure = {
        provider,
        model,
        requests: 0,
        errors: 0,
        stalls: 0,
        overReports: 0,
        timed: 0,
        slow: 0,
        firstOutputMs: 0,
      }
      this.measures.set(name, measure)
    }
    return measure
  }
}

/** One request to a registered provider; its end counts once. */
export class CanaryAttempt {
  private readonly watch: CanaryWatch
  private readonly route: Route
  private readonly firstOutputMaxMs: number
  private readonly streamed: boolean
  private readonly startedAtMs: number
  private firstOutputMs = -1
  /** Of a stream: since when its next output, or its end, is awaited; 0 while its client reads none. */
  private awaitedSinceMs = 0
  private longestWaitMs = 0
  /** The time of all outputs after the first one together. */
  private waitedMs = 0
  private outputBytes = 0
  private over = false

  constructor(watch: CanaryWatch, route: Route, firstOutputMaxMs: number, streamed: boolean, startedAtMs: number) {
    this.watch = watch
    this.route = route
    this.firstOutputMaxMs = firstOutputMaxMs
    this.streamed = streamed
    this.startedAtMs = startedAtMs
  }

  /**
   * Output of a stream has arrived, or a whole answer.
   * @param outputBytes of a whole answer; the time that they may take does not count
   */
  onOutput(nowMs: number, outputBytes = 0): void {
    if (this.firstOutputMs < 0) {
      this.firstOutputMs = Math.max(0, nowMs - this.startedAtMs - outputBytes * OUTPUT_BYTE_MS)
    }
    if (this.streamed) this.awaitedSinceMs = nowMs
  }

  /** More output of a stream has arrived. @param outputBytes of the stream so far; the time that they may take does not count */
  onNextOutput(nowMs: number, outputBytes: number): void {
    this.outputBytes = outputBytes
    this.onPaused(nowMs)
    this.awaitedSinceMs = nowMs
  }

  /** The client reads no more for now: until `onResumed`, the provider is not waited for. */
  onPaused(nowMs: number): void {
    if (this.awaitedSinceMs === 0) return
    const waitMs = Math.max(0, nowMs - this.awaitedSinceMs)
    this.awaitedSinceMs = 0
    this.waitedMs += waitMs
    this.longestWaitMs = Math.max(this.longestWaitMs, waitMs)
  }

  onResumed(nowMs: number): void {
    if (this.firstOutputMs >= 0 && this.awaitedSinceMs === 0) this.awaitedSinceMs = nowMs
  }

  /** The answer is whole. */
  succeeded(nowMs: number): void {
    this.onPaused(nowMs)
    this.end('')
  }

  /** @param isSilence the provider timed out */
  failed(isSilence: boolean): void {
    this.end(isSilence ? 'stalls' : 'errors')
  }

  /** The request was given up. If it had waited longer than the bar, that is the provider's fault. */
  givenUp(nowMs: number): void {
    this.onPaused(nowMs)
    if (this.firstOutputMs >= 0) this.end('')
    else if (this.streamed && nowMs - this.startedAtMs > this.firstOutputMaxMs) this.end('stalls')
    else this.over = true
  }

  private end(fault: '' | 'errors' | 'stalls'): void {
    if (this.over) return
    this.over = true
    const measure = this.watch.of(this.route)
    measure.requests++
    if (fault !== '') measure[fault]++
    if (this.firstOutputMs < 0) return
    measure.timed++
    measure.firstOutputMs += this.firstOutputMs
    if (this.isSlow) measure.slow++
  }

  private get isSlow(): boolean {
    const restMs = this.waitedMs - this.outputBytes * OUTPUT_BYTE_MS
    return Math.max(this.firstOutputMs, this.longestWaitMs, restMs) > this.firstOutputMaxMs
  }
}
