import { intArray } from '../../runtime/db/arrays.ts'

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

/** Stretches as the parameters of a statement: their logs, their first positions, and those behind their last ones. */
export function stretchArrays(stretches: readonly Stretch[]): [logs: string, firsts: string, lasts: string] {
  return [
    intArray(stretches.map(({ log }) => log)),
    intArray(stretches.map(({ from }) => from)),
    intArray(stretches.map(({ to }) => to)),
  ]
}

/** SQL of a table of the receipts of stretches, whose arrays are $1, $2 and $3. */
export const STRETCH_RECEIPTS = `(
  SELECT r.* FROM unnest($1::smallint[], $2::bigint[], $3::bigint[]) AS s (own, least, beyond)
  CROSS JOIN LATERAL (SELECT * FROM receipts WHERE log = own AND position >= least AND position < beyond OFFSET 0) AS r
)`
