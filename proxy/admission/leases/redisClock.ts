/**
 * Redis's clock as this process can know it: never behind it, and ahead by no more than an answer took. What is held in an
 * hour by this clock is thus never held after Redis has begun the next one.
 */
export class RedisClock {
  private offsetMs = Number.NEGATIVE_INFINITY

  /**
   * @param sentAtMs when Redis was asked, by performance.now()
   * @param redisMs what its clock said
   */
  note(sentAtMs: number, redisMs: number): void {
    this.offsetMs = redisMs - sentAtMs
  }

  /** Milliseconds since 1970; minus infinity before the first answer. */
  now(): number {
    return Math.floor(this.offsetMs + performance.now())
  }
}
