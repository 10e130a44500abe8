const SAMPLES_MAX = 2_000_000

/** Quantiles in milliseconds. */
export interface Quantiles {
  readonly count: number
  readonly min: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  /** False when there were more samples than are kept; the quantiles are then of the first ones. */
  readonly exact: boolean
}

/** Every sample as it was, up to a bound; no buckets. */
export class Samples {
  private values = new Float64Array(4_096)
  private kept = 0
  private seen = 0

  add(value: number): void {
    this.seen++
    if (this.kept === SAMPLES_MAX) return
    if (this.kept === this.values.length) this.grow()
    this.values[this.kept++] = value
  }

  quantiles(): Quantiles {
    const sorted = this.values.slice(0, this.kept).sort()
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
    return {
      count: this.seen,
      min: at(0),
      p50: at(0.5),
      p99: at(0.99),
      p999: at(0.999),
      max: at(1),
      exact: this.seen === this.kept,
    }
  }

  private grow(): void {
    const larger = new Float64Array(Math.min(SAMPLES_MAX, this.values.length * 2))
    larger.set(this.values)
    this.values = larger
  }
}
