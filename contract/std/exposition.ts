/** The content type of the Prometheus text format 0.0.4. https://prometheus.io/docs/instrumenting/exposition_formats */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type MetricType = 'counter' | 'gauge' | 'histogram'
export type MetricLabels = Readonly<Record<string, string | number>>

/** A histogram: `counts` by bucket, the last one of everything above the bounds. */
export interface Histogram {
  readonly counts: number[]
  sum: number
}

/** A metric without its values. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: MetricType
  readonly labels: readonly string[]
}

/** Writes metrics in the Prometheus text format, family by family; it keeps no values. */
export class Exposition {
  /** The families that were written, in their order. */
  readonly families: MetricFamily[] = []
  private name = ''
  private written = ''

  get text(): string {
    return this.written
  }

  /**
   * Begins a family; the samples that follow are its own.
   * @param labels the names of its labels, without `le`
   */
  family(name: string, help: string, type: MetricType, labels: readonly string[] = []): this {
    this.families.push({ name, help, type, labels })
    this.name = name
    this.written += `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`
    return this
  }

  sample(value: number, labels?: MetricLabels): this {
    this.line('', labels, value)
    return this
  }

  /** @param bounds the upper bounds of the buckets, ascending */
  histogram(bounds: readonly number[], { counts, sum }: Histogram, labels?: MetricLabels): this {
    let count = 0
    for (const [i, more] of counts.entries()) {
      count += more
      this.line('_bucket', { ...labels, le: bounds[i] ?? '+Inf' }, count)
    }
    this.line('_sum', labels, sum)
    this.line('_count', labels, count)
    return this
  }

  private line(suffix: string, labels: MetricLabels | undefined, value: number): void {
    const shown = Object.entries(labels ?? {}).map(([label, text]) => `${label}="${escaped(String(text))}"`)
    this.written += `${this.name}${suffix}${shown.length === 0 ? '' : `{${shown.join(',')}}`} ${numberText(value)}\n`
  }
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"')
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

/** Adds a value to a histogram with these bounds. */
export function observe(histogram: Histogram, bounds: readonly number[], value: number): void {
  let bucket = 0
  while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
  histogram.counts[bucket] = (histogram.counts[bucket] as number) + 1
  histogram.sum += value
}

/** A histogram without values. */
export function emptyHistogram(bounds: readonly number[]): Histogram {
  return { counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }
}
