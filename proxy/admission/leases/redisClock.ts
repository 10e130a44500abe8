/**
 * Redis's clock as this process can estimate it: it never lags behind, and is ahead by at most one round trip. A hold that
 * counts for an hour by this clock is thus never taken after Redis has begun the next one.
 */
export class RedisClock {
  private offsetMs = Number.NEGATIVE_INFINITY

  /**
   * @param sentAtMs when Redis was asked, by performance.now()
   * @param redisMs the time in its answer
   */
  note(sentAtMs: number, redisMs: number): void {
    this.offsetMs = redisMs - sentAtMs
  }

  /** Milliseconds since 1970; minus infinity before the first answer. */
  now(): number {
    return Math.floor(this.offsetMs + performance.now())
  }
}
