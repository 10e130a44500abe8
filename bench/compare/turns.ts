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

/** Neighbors of a virtual machine only ever add to a measurement, so that the lowest of many differ less than medians. */
const LOW = 0.1

/** The value of each build below which a part of its measurements lies. */
function bothAt(pairs: readonly Pair[], part: number): Pair {
  const [mine, other] = [pairs.map((pair) => pair.mine), pairs.map((pair) => pair.other)]
  return { mine: quantile(mine, part), other: quantile(other, part) }
}

function ratioOf({ mine, other }: Pair): number {
  return mine / other
}

function against({ mine, other }: Pair): string {
  return `${mine.toFixed(1)} us against ${other.toFixed(1)} us`
}

/** The quantiles of ratios at some parts, as text. */
function shown(ratios: readonly number[], parts: readonly number[]): string {
  return parts.map((part) => quantile(ratios, part).toFixed(3)).join(', ')
}

/** One line of the outcome: medians and lowest tenths of both builds, and the quartiles of their ratios. */
export function resultLine(name: string, pairs: readonly Pair[]): string {
  const quartiles = shown(pairs.map(ratioOf), [0.25, 0.5, 0.75])
  const low = bothAt(pairs, LOW)
  const tenths = `lowest tenths ${against(low)}, ${ratioOf(low).toFixed(3)}`
  return `${name.padEnd(15)} ${against(bothAt(pairs, 0.5))}; ratios of ${pairs.length} pairs, quartiles: ${quartiles}; ${tenths}`
}

/**
 * One line for a case that was measured in several starts of both builds. Compiled code differs between processes of
 * one build, so that pairs of one start describe its processes alone: each start counts as one ratio.
 * @param starts the pairs of each start
 */
export function startsLine(name: string, starts: readonly (readonly Pair[])[]): string {
  const medians = ofStarts(starts.map((pairs) => quantile(pairs.map(ratioOf), 0.5)))
  const low = ofStarts(starts.map((pairs) => ratioOf(bothAt(pairs, LOW))))
  return `${name.padEnd(15)} ${starts.length} starts; ${medians}; of lowest tenths: ${low}`
}

function ofStarts(ratios: readonly number[]): string {
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length)
  return `geometric mean ${mean.toFixed(3)}; least, quartiles and most: ${shown(ratios, [0, 0.25, 0.5, 0.75, 1])}`
}
