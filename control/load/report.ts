import { formatUsdWide } from '../../contract/money/units.ts'
import { type BarResult, type Bars, compareBars } from './bars.ts'
import type { ClimbReport } from './climb.ts'
import type { Quantiles } from './histogram.ts'
import type { Slice } from './series.ts'
import { FAULTS, type Tally } from './tally.ts'

/** A fault that a load test found, by its name. */
export interface Finding {
  readonly name: string
  readonly count: number
  /** The first ones. */
  readonly examples: readonly string[]
}

/** The measurements of one gateway; times are in milliseconds. */
export interface TargetReport {
  readonly url: string
  readonly seconds: number
  readonly requests: number
  readonly good: number
  /** Errors and cut streams. */
  readonly failed: number
  readonly good_per_second: number
  readonly errors: Readonly<Record<string, number>>
  readonly first_token_ms: Quantiles
  readonly between_chunks_ms: Quantiles
  readonly total_ms: Quantiles
  readonly longest_gap_ms: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly receipts: {
    readonly seen: number
    readonly compared_with_book: number
    /** The sum of all charges. */
    readonly charged_units: string
    readonly charged_usd: string
  }
  readonly findings: readonly Finding[]
  readonly bars: readonly BarResult[]
  readonly climb: ClimbReport | null
  /** Why it ended before its time; null when it did not. */
  readonly stopped: string | null
  readonly slice_seconds: number
  readonly slices: readonly Slice[]
  /** Pairs of a percentage and the milliseconds that so many requests did not exceed. */
  readonly distribution: readonly (readonly [percent: number, firstMs: number, totalMs: number])[]
}

/** The whole report. */
export interface LoadReport {
  readonly started_at: string
  readonly mode: string
  /** Whether all bars were met, no receipt and no frame was wrong, and nothing ended it early. */
  readonly ok: boolean
  /** One, or two that were compared. */
  readonly gateways: readonly TargetReport[]
}

/** The sources of the report of one gateway. */
export interface Measured {
  readonly url: string
  readonly tally: Tally
  readonly comparedWithBook: number
  readonly climb: ClimbReport | undefined
  readonly stopped: string
  readonly bars: Bars
}

/** Errors, cut streams and stalls are for the operator to judge by bars; these never may be. */
const NEVER: ReadonlySet<string> = new Set(['lost_frames', 'reordered_frames', 'wrong_receipts', 'missing_receipts'])
const SHARES = [0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 98, 99, 99.5, 99.9, 100]

export function targetReport({ url, tally, comparedWithBook, climb, stopped, bars }: Measured): TargetReport {
  const seconds = tally.runningMs / 1_000
  const report: TargetReport = {
    url,
    seconds: Math.round(seconds * 1_000) / 1_000,
    requests: tally.answers,
    good: tally.good,
    failed: tally.answers - tally.good,
    good_per_second: seconds === 0 ? 0 : Math.round((tally.good / seconds) * 10) / 10,
    errors: Object.fromEntries(tally.errors),
    first_token_ms: tally.first.quantiles(),
    between_chunks_ms: tally.between.quantiles(),
    total_ms: tally.total.quantiles(),
    longest_gap_ms: Math.round(tally.longestGapMs),
    prompt_tokens: tally.promptTokens,
    completion_tokens: tally.completionTokens,
    receipts: {
      seen: tally.receipts,
      compared_with_book: comparedWithBook,
      charged_units: String(tally.chargedUnits),
      charged_usd: formatUsdWide(tally.chargedUnits),
    },
    findings: findingsOf(tally, climb),
    bars: [],
    climb: climb ?? null,
    stopped: stopped === '' ? null : stopped,
    slice_seconds: tally.series.seconds,
    slices: tally.series.read(),
    distribution: distributionOf(tally),
  }
  return { ...report, bars: compareBars(bars, report) }
}

/** Whether a load test of this gateway has succeeded. */
export function isOk({ good, findings, bars, stopped }: TargetReport): boolean {
  return good > 0 && stopped === null && bars.every(({ met }) => met) && !findings.some(({ name }) => NEVER.has(name))
}

function findingsOf(tally: Tally, climb: ClimbReport | undefined): Finding[] {
  const findings: Finding[] = FAULTS.map((name) => ({
    name,
    count: tally.counts[name],
    examples: tally.examples[name],
  }))
  const missing = tally.missingReceipts
  findings.push({ name: 'missing_receipts', count: missing, examples: [`${missing} good answers have no receipt`] })
  const bend = climb?.bend ?? null
  findings.push({ name: 'latency_bend', count: bend === null ? 0 : 1, examples: bend === null ? [] : [bend] })
  return findings.filter(({ count }) => count > 0)
}

function distributionOf({ first, total }: Tally): [number, number, number][] {
  const rounded = (ms: number): number => Math.round(ms * 100) / 100
  return SHARES.map((percent) => {
    const share = Math.max(percent / 100, Number.MIN_VALUE)
    return [percent, rounded(first.quantile(share)), rounded(total.quantile(share))]
  })
}
