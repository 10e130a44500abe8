/** A stretch of one usage log: the positions from the first up to but without the last. */
export interface Stretch {
  readonly log: number
  readonly from: number
  readonly to: number
}

/** The first receipts of the stretches, this many of all together. */
export function firstOf(stretches: readonly Stretch[], most: number): Stretch[] {
  let left = most
  const first: Stretch[] = []
  for (const { log, from, to } of stretches) {
    if (left === 0) break
    const until = Math.min(to, from + left)
    left -= until - from
    first.push({ log, from, to: until })
  }
  return first
}

/** How many places stretches have together. */
export function sizeOf(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}
