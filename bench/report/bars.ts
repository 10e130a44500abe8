import {
  LATENCY,
  PACE_MS,
  PACED_CONNECTIONS,
  paced,
  SMALL,
  STREAM,
  STREAM_FLUSHED,
  STREAM_TOKENS,
  TLS_FLUSHED,
  TLS_SMALL,
  TLS_STREAM,
} from '../cases.ts'
import type { BenchResults, Sample } from '../results.ts'
import { byRound, cpuRatios, growth, medianOf, paired } from './figures.ts'
import { digits, whole } from './text.ts'

/** One line of the table of targets. */
export interface Bar {
  readonly figure: string
  readonly bar: string
  readonly hope: string
  /** The measured value, as shown; undefined if it was not measured. */
  readonly measured: string | undefined
  readonly reached: boolean
  readonly hopeReached: boolean
}

/** How a figure is judged. */
interface Judge {
  readonly figure: string
  readonly bar: number
  readonly hope: number
  readonly show: (value: number) => string
  readonly value: number | undefined
  /** More of it is better; otherwise less is. */
  readonly wantsMore?: boolean
  /** The word before the bar, if it is neither "at most" nor "at least". */
  readonly word?: string
}

const ratio = (value: number): string => `${digits(value)}x`
const percent = (value: number): string => `${(value * 100).toFixed(1)} %`
const milliseconds = (value: number): string => `${value.toFixed(2)} ms`
const share = (value: number): string => `1/${whole(value)}`

/** The targets with the measured values. */
export function bars(results: BenchResults): Bar[] {
  const resident = results.memory?.samples.map(({ residentBytes }) => residentBytes) ?? []
  const judges: Judge[] = [
    ...cpuBars(results),
    {
      figure: 'added p99 at concurrency 1, full money path',
      bar: 0.6,
      hope: 0.3,
      show: milliseconds,
      value: addedP99(results),
    },
    {
      figure: `paced ${PACE_MS} ms concurrent streams, no lost frame, no stall over 100 ms`,
      bar: 1_000,
      hope: 2_000,
      show: whole,
      value: pacedAtOnce(results),
      wantsMore: true,
    },
    {
      figure: 'settlement into PostgreSQL, receipts a second',
      bar: 15_000,
      hope: 30_000,
      show: whole,
      value: settlementRate(results),
      wantsMore: true,
    },
    {
      figure: `RSS growth over ${whole(results.memory?.samples.at(-1)?.requests ?? 500_000)} requests after warm-up`,
      bar: 0.05,
      hope: 0,
      show: percent,
      value: growth(resident),
    },
    ...accountBars(results),
  ]
  return judges.map(judge)
}

function cpuBars(results: BenchResults): Judge[] {
  const toNginx = (name: string) => ({
    show: ratio,
    value: medianOf(cpuRatios(results, name, 'sluice', 'nginx')),
  })
  const chunk = `CPU per streamed chunk (${STREAM_TOKENS}-chunk streams), full money path, against nginx`
  const overTls = `CPU per stream of ${STREAM_TOKENS} chunks over TLS, against nginx with proxy_ssl`
  const bounds = { bar: 1, hope: 0.7 }
  const toPortkey = medianOf(cpuRatios(results, SMALL, 'portkey', 'sluice'))
  return [
    { figure: 'CPU per small request, full money path, against nginx', bar: 3, hope: 2, ...toNginx(SMALL) },
    { figure: `${chunk}; unpaced, each chunk sent by itself`, ...bounds, ...toNginx(STREAM_FLUSHED) },
    { figure: `${chunk}; unpaced, in bulk`, ...bounds, ...toNginx(STREAM) },
    { figure: `${chunk}; one every ${PACE_MS} ms, 500 streams`, ...bounds, ...toNginx(paced(500)) },
    {
      figure: 'CPU per small answer over TLS, against nginx with proxy_ssl',
      bar: 2.4,
      hope: 1.9,
      ...toNginx(TLS_SMALL),
    },
    { figure: `${overTls}; each chunk sent by itself`, bar: 1.4, hope: 1, ...toNginx(TLS_FLUSHED) },
    { figure: `${overTls}; in bulk`, bar: 1.4, hope: 1, ...toNginx(TLS_STREAM) },
    {
      figure: 'CPU per small request, full money path, against Portkey',
      bar: 25,
      hope: 40,
      show: share,
      value: toPortkey,
      wantsMore: true,
      word: 'at most',
    },
  ]
}

function accountBars({ accounts }: BenchResults): Judge[] {
  const figure = `with ${whole(accounts?.many ?? 100_000)} accounts against ${accounts?.few ?? 10}`
  const ratios = (of: (sample: Sample) => number) =>
    medianOf((accounts?.rounds ?? []).map(({ few, active }) => perRequestOf(active, of) / perRequestOf(few, of)))
  const bounds = { bar: 1.05, hope: 1, show: ratio }
  return [
    { figure: `CPU per request ${figure}`, ...bounds, value: ratios(({ cpuMicros }) => cpuMicros) },
    { figure: `CPU of Redis per request ${figure}`, ...bounds, value: ratios(({ redisMicros }) => redisMicros) },
  ]
}

function perRequestOf(sample: Sample, of: (sample: Sample) => number): number {
  return of(sample) / sample.load.requests
}

/** Milliseconds that the gateway adds to the p99 of sequential requests. */
function addedP99(results: BenchResults): number | undefined {
  const p99 = (target: 'sluice' | 'direct') => byRound(results, LATENCY, target, ({ load }) => load.latencyMs.p99)
  return medianOf(paired(p99('sluice'), p99('direct'), (sluice, direct) => sluice - direct))
}

/** The most concurrent streams with which, as with all fewer, no frame was lost and nothing stalled in any round. */
function pacedAtOnce(results: BenchResults): number | undefined {
  let most: number | undefined
  for (const connections of PACED_CONNECTIONS) {
    const faults = [...byRound(results, paced(connections), 'sluice', ({ load }) => load.lostEvents + load.stalls)]
    if (faults.length === 0) continue
    if (faults.some(([, count]) => count > 0)) return most ?? 0
    most = connections
  }
  return most
}

/** Receipts a second, from the streams to the commit; the median of the runs. */
export function settlementRate({ settlement }: BenchResults): number | undefined {
  return medianOf((settlement?.runs ?? []).map(({ receipts, elapsedMs }) => (receipts / elapsedMs) * 1_000))
}

function judge({ figure, bar, hope, show, value, wantsMore = false, word }: Judge): Bar {
  const meets = (limit: number) => value !== undefined && (wantsMore ? value >= limit : value <= limit)
  return {
    figure,
    bar: `${word ?? (wantsMore ? 'at least' : 'at most')} ${show(bar)}`,
    hope: show(hope),
    measured: value === undefined ? undefined : show(value),
    reached: meets(bar),
    hopeReached: meets(hope),
  }
}
