import type { TargetName } from '../cases.ts'
import { LONG_TOKENS, SHORT_TOKENS, STREAM_LONG, STREAM_SHORT } from '../cases.ts'
import type { BenchResults, Measurement } from '../results.ts'

/** A figure of one measurement. */
export type Value = (measurement: Measurement) => number

/** CPU microseconds of the gateway for a request. */
export const perRequest: Value = ({ cpuMicros, load }) => cpuMicros / load.requests

/** A figure by round: rounds in which it was not measured are left out. */
export type ByRound = ReadonlyMap<number, number>

/** The figure of a case on a target, by round. */
export function byRound(results: BenchResults, name: string, target: TargetName, value: Value): ByRound {
  const own = results.measurements.filter((one) => one.case === name && one.target === target)
  return new Map(own.map((one) => [one.round, value(one)]))
}

/** Combines two figures of the same round; rounds that lack one of them are left out. */
export function paired(a: ByRound, b: ByRound, combine: (a: number, b: number) => number): number[] {
  return [...a].flatMap(([round, value]) => {
    const other = b.get(round)
    return other === undefined ? [] : [combine(value, other)]
  })
}

/** How many times as much CPU a request of a case costs on one target as on another, round by round. */
export function cpuRatios(results: BenchResults, name: string, target: TargetName, base: TargetName): number[] {
  const of = (one: TargetName) => byRound(results, name, one, perRequest)
  return paired(of(target), of(base), (a, b) => a / b)
}

/** CPU microseconds of one more chunk in an unpaced stream: long streams less short ones, round by round. */
export function marginalChunk(results: BenchResults, target: TargetName): ByRound {
  const short = byRound(results, STREAM_SHORT, target, perRequest)
  const long = byRound(results, STREAM_LONG, target, perRequest)
  const chunks = LONG_TOKENS - SHORT_TOKENS
  return new Map(
    [...long].flatMap(([round, value]) => {
      const other = short.get(round)
      return other === undefined ? [] : [[round, (value - other) / chunks] as const]
    }),
  )
}

/** The middle of a list, or the mean of the two in its middle; NaN of an empty one. */
export function median(list: readonly number[]): number {
  const sorted = list.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/** The median, or undefined where nothing was measured. */
export function medianOf(list: readonly number[]): number | undefined {
  return list.length === 0 ? undefined : median(list)
}

/**
 * The growth of memory from the first to the last quarter of the samples, as a share: medians of both, because the garbage
 * collector releases memory in steps.
 */
export function growth(samples: readonly number[]): number | undefined {
  const size = Math.floor(samples.length / 4)
  if (size === 0) return undefined
  return median(samples.slice(-size)) / median(samples.slice(0, size)) - 1
}
