/** CPU time of two builds per request, in microseconds, measured within seconds of each other. */
export interface Pair {
  readonly mine: number
  readonly other: number
}

/** Measures one build once. @returns microseconds of CPU a request */
export type Measure = () => Promise<number>

/** Measures two builds by turns. Each is first in every second pair, so that neither gains by the order. */
export async function measureByTurns(pairCount: number, mine: Measure, other: Measure): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let pair = 0; pair < pairCount; pair++) {
    if (pair % 2 === 0) {
      const first = await mine()
      pairs.push({ mine: first, other: await other() })
    } else {
      const first = await other()
      pairs.push({ mine: await mine(), other: first })
    }
  }
  return pairs
}

/** The value below which a part of them lies; the lower one of two. */
function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN
}

/**
 * The ratio by the lowest tenth of each build's measurements. Neighbors of a virtual machine only ever add to a
 * measurement, so that the lowest of many differ by less than their medians.
 */
function lowest(pairs: readonly Pair[]): Pair {
  return {
    mine: quantile(
      pairs.map(({ mine }) => mine),
      0.1,
    ),
    other: quantile(
      pairs.map(({ other }) => other),
      0.1,
    ),
  }
}

function medianRatio(pairs: readonly Pair[]): number {
  return quantile(
    pairs.map(({ mine, other }) => mine / other),
    0.5,
  )
}

/** One line of the outcome: medians and lowest tenths of both builds, and the quartiles of their ratios. */
export function resultLine(name: string, pairs: readonly Pair[]): string {
  const ratios = pairs.map(({ mine, other }) => mine / other)
  const shown = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(3)).join(', ')
  const [mine, other] = [pairs.map((pair) => pair.mine), pairs.map((pair) => pair.other)]
  const micros = `${quantile(mine, 0.5).toFixed(1)} us against ${quantile(other, 0.5).toFixed(1)} us`
  const low = lowest(pairs)
  const tenths = `lowest tenths ${low.mine.toFixed(1)} us against ${low.other.toFixed(1)} us, ${(low.mine / low.other).toFixed(3)}`
  return `${name.padEnd(15)} ${micros}; ratios of ${pairs.length} pairs, quartiles: ${shown}; ${tenths}`
}

/**
 * One line for a case that was measured in several starts of both builds. Compiled code differs between processes of
 * one build, so that pairs of one start describe its processes alone: each start counts as one ratio.
 * @param starts the pairs of each start
 */
export function startsLine(name: string, starts: readonly (readonly Pair[])[]): string {
  const low = starts.map(lowest).map(({ mine, other }) => mine / other)
  const spread = `${ofStarts(starts.map(medianRatio))}; of lowest tenths: ${ofStarts(low)}`
  return `${name.padEnd(15)} ${starts.length} starts; ${spread}`
}

function ofStarts(ratios: readonly number[]): string {
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length)
  const shown = [0, 0.25, 0.5, 0.75, 1].map((part) => quantile(ratios, part).toFixed(3)).join(', ')
  return `geometric mean ${mean.toFixed(3)}; least, quartiles and most: ${shown}`
}
