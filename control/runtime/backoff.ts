/**
 * How long to wait before the next attempt, in milliseconds: `leastMs` after the first one, twice as long after each
 * further one, and never longer than `mostMs`.
 * @param attempts number of attempts made so far
 */
export function backoffMs(attempts: number, leastMs: number, mostMs: number): number {
  return Math.min(mostMs, leastMs * 2 ** Math.min(Math.max(0, attempts - 1), 20))
}
