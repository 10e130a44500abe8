/** Quantiles in milliseconds, each at most 1 % above the measured value. */
export interface Quantiles {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p99_9: number
  /** Exact. */
  readonly max: number
}

const LOWEST_MS = 0.01
const GROWTH = 1.01
const LOG_GROWTH = Math.log(GROWTH)
/** Up to a day. */
const BUCKETS = Math.ceil(Math.log(86_400_000 / LOWEST_MS) / LOG_GROWTH) + 2

/** Durations in buckets that are 1 % wide, so that memory does not grow with a load test. */
export class Histogram {
  count = 0
  maxMs = 0
  private readonly buckets = new Uint32Array(BUCKETS)

  add(ms: number): void {
    this.count++
    if (ms > this.maxMs) this.maxMs = ms
    const place = ms <= LOWEST_MS ? 0 : Math.ceil(Math.log(ms / LOWEST_MS) / LOG_GROWTH)
    const bucket = Math.min(place, BUCKETS - 1)
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1
  }

  /** The smallest bound that this share of the durations does not exceed; 0 without durations. @param share above 0, at most 1 */
  quantile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.count))
    let seen = 0
    for (const [bucket, count] of this.buckets.entries()) {
      seen += count
      if (seen >= rank) return Math.min(this.maxMs, LOWEST_MS * GROWTH ** bucket)
    }
    return 0
  }

  quantiles(): Quantiles {
    const at = (share: number): number => rounded(this.quantile(share))
    return {
      count: this.count,
      p50: at(0.5),
      p90: at(0.9),
      p99: at(0.99),
      p99_9: at(0.999),
      max: rounded(this.maxMs),
    }
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
