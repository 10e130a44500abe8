import type { Logger } from 'pino'
import { logEvent } from '../logEvents.ts'
import type { MetricsLimits } from './limits.ts'
import { FIRST_TOKEN_SECONDS } from './modelBuckets.ts'
import { labelsOf, type ModelCounts } from './modelMetrics.ts'

type SlowLimits = Pick<MetricsLimits, 'slowProviderMs' | 'slowProviderCheckMs' | 'slowProviderStreamsMin'>

/** The streams of a model at a provider. */
interface Streams {
  readonly model: string
  readonly provider: string
  all: number
  /** Those whose first token took too long. */
  slow: number
}

const NONE = { all: 0, slow: 0 } as const
const MILLISECONDS = 1_000

/**
 * Logs once that a provider has become slow with a model, and once that it is not any more: by the streams that have ended
 * since it was judged last, most of which waited too long for their first token. Too few streams are judged with later ones.
 */
export class SlowProviders {
  private readonly counts: ModelCounts
  private readonly log: Logger
  private readonly limits: SlowLimits
  private readonly now: () => number
  private readonly timer: NodeJS.Timeout
  private seen = new Map<string, Streams>()
  /** Since when a provider is slow with a model. */
  private readonly slowSinceMs = new Map<string, number>()

  /** @param counts are read, as they grow @param now a clock in milliseconds */
  constructor(counts: ModelCounts, log: Logger, limits: SlowLimits, now: () => number = () => performance.now()) {
    this.counts = counts
    this.log = log
    this.limits = limits
    this.now = now
    this.timer = setInterval(() => this.look(), limits.slowProviderCheckMs).unref()
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private look(): void {
    const streams = this.streams()
    for (const [name, { model, provider, all, slow }] of streams) {
      const before = this.seen.get(name) ?? NONE
      const fresh = all - before.all
      if (fresh < this.limits.slowProviderStreamsMin) continue
      this.judge(name, { model, provider, all: fresh, slow: slow - before.slow })
      this.seen.set(name, { model, provider, all, slow })
    }
  }

  private judge(name: string, { model, provider, all, slow }: Streams): void {
    const sinceMs = this.slowSinceMs.get(name)
    const isSlow = slow > all / 2
    if (isSlow && sinceMs === undefined) {
      this.slowSinceMs.set(name, this.now())
      const { slowProviderMs: limitMs } = this.limits
      logEvent(this.log, 'provider_slow', { provider, model, streams: all, slowStreams: slow, limitMs })
    } else if (!isSlow && sinceMs !== undefined) {
      this.slowSinceMs.delete(name)
      logEvent(this.log, 'provider_recovered', { provider, model, outageMs: Math.round(this.now() - sinceMs) })
    }
  }

  /** Over all keys of the provider and all operations. */
  private streams(): Map<string, Streams> {
    const found = new Map<string, Streams>()
    for (const [key, { firstToken }] of Object.entries(this.counts)) {
      const { model, provider } = labelsOf(key)
      if (provider === '') continue
      const name = JSON.stringify([provider, model])
      const streams = found.get(name) ?? { model, provider, all: 0, slow: 0 }
      for (const [bucket, count] of firstToken.counts.entries()) {
        streams.all += count
        if (this.isSlow(bucket)) streams.slow += count
      }
      found.set(name, streams)
    }
    return found
  }

  private isSlow(bucket: number): boolean {
    const above = FIRST_TOKEN_SECONDS[bucket - 1]
    return above !== undefined && above * MILLISECONDS >= this.limits.slowProviderMs
  }
}
