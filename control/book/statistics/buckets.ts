/**
 * Upper bounds of the buckets that times are counted in, in milliseconds: the R10 series of preferred numbers (ISO 3), rounded
 * to integers, up to 4,000,000; each is about 26 % above the one before. A bucket counts times above the previous bound up to
 * its own; after the last bound there is one more. The bounds never change, since counts are kept by bucket.
 */
export const BOUNDS_MS: readonly number[] = [1, 2, 3, 4, 5, 6, 8, ...decades([10, 100, 1_000, 10_000, 100_000])].concat(
  [1_000_000, 1_250_000, 1_600_000, 2_000_000, 2_500_000, 3_150_000, 4_000_000],
)

function decades(starts: readonly number[]): number[] {
  const hundredths = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800]
  return starts.flatMap((start) => hundredths.map((part) => Math.ceil((start * part) / 100)))
}

/** Including the one after the last bound. */
export const BUCKETS: number = BOUNDS_MS.length + 1

/** The place of the bucket that a time is counted in. @param ms not negative */
export function bucketOf(ms: number): number {
  let [low, high] = [0, BOUNDS_MS.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((BOUNDS_MS[middle] ?? 0) < ms) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * A percentile, rounded up to the bound of its bucket.
 * @param counts by the place of their bucket
 * @param percent an integer from 1 to 100
 * @returns milliseconds; null where nothing was counted, or where it is above the last bound
 */
export function percentileMs(counts: readonly number[], percent: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  let below = 0
  for (const [place, count] of counts.entries()) {
    below += count
    // Integers alone: below / total >= percent / 100.
    if (total > 0 && below * 100 >= total * percent) return BOUNDS_MS[place] ?? null
  }
  return null
}
