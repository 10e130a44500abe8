import type { Quantiles } from './histogram.ts'

/** The bars that a load test must reach; undefined where nobody asked for one. */
export interface Bars {
  readonly p99FirstMs: number | undefined
  readonly p99TotalMs: number | undefined
  /** Share of requests that may fail, in percent. */
  readonly errorsPercent: number | undefined
}

/** The measurements that are compared with bars; times in milliseconds. */
export interface Measurements {
  readonly requests: number
  readonly failed: number
  readonly first_token_ms: Quantiles
  readonly total_ms: Quantiles
}

/** A bar and what was measured. */
export interface BarResult {
  readonly bar: string
  readonly limit: number
  readonly measured: number
  readonly unit: 'ms' | '%'
  readonly met: boolean
}

const MS_PER: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }

/** Milliseconds of a text such as 300ms, 2s or 1.5m; undefined when it is no such text or zero. */
export function durationMs(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text)
  const ms = Number(match?.[1]) * (MS_PER[match?.[2] ?? ''] ?? Number.NaN)
  return ms > 0 ? ms : undefined
}

/** A percentage such as 0.1%; undefined when it is no such text or above 100%. */
export function percentOf(text: string): number | undefined {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)%$/.exec(text)
  const percent = Number(match?.[1])
  return percent <= 100 ? percent : undefined
}

/** Compares a gateway with the bars. A time that nothing was measured of does not meet its bar. */
export function compareBars(bars: Bars, measured: Measurements): BarResult[] {
  const { first_token_ms: first, total_ms: total, requests, failed } = measured
  const results: BarResult[] = []
  const time = (bar: string, limit: number | undefined, { count, p99 }: { count: number; p99: number }): void => {
    if (limit !== undefined) results.push({ bar, limit, measured: p99, unit: 'ms', met: count > 0 && p99 <= limit })
  }
  time('p99-ttft', bars.p99FirstMs, first)
  time('p99-total', bars.p99TotalMs, total)
  if (bars.errorsPercent === undefined) return results
  const percent = requests === 0 ? 100 : (failed / requests) * 100
  const met = percent <= bars.errorsPercent
  return results.concat({ bar: 'errors', limit: bars.errorsPercent, measured: percent, unit: '%', met })
}
