/**
 * The permits of a key's rate that this process has, and those that were left for all processes when Redis was last asked.
 * Below zero, one was used on a lease that rests, and is not taken yet.
 */
export class RatePermits {
  count = 0
  private leftInRedis = 0

  /** Whether one may be used before it is taken: one at a time, and only while the rate has so many left. */
  mayOwe(leastLeft: number): boolean {
    return this.count === 0 && this.leftInRedis >= leastLeft
  }

  add(permits: number, left: number): void {
    this.count += permits
    this.leftInRedis = left
  }

  /** Uses one. @returns the permits that are left, by the last answer of Redis */
  use(): number {
    this.count--
    return this.count + this.leftInRedis
  }

  /** Requests were refused that had theirs. */
  lose(count: number): void {
    this.count = Math.max(Math.min(0, this.count), this.count - count)
  }

  /** The key has another rate now. */
  void(): void {
    this.count = Math.min(0, this.count)
    this.leftInRedis = 0
  }

  /**
   * All of them, as `count,interval` for the call that gives them back; `-count,interval,burst` for one that was used and is
   * to be taken; empty when there are none.
   * @param rate as lease.lua takes it, `interval,burst`; empty for none
   */
  takeAll(rate: string): string {
    const { count } = this
    if (count === 0) return ''
    this.count = 0
    if (count < 0) {
      // Until Redis says how many are left.
      this.leftInRedis = 0
      return rate === '' ? '' : `${count},${rate}`
    }
    const interval = rate.split(',', 1)[0] ?? ''
    return interval === '' ? '' : `${count},${interval}`
  }
}
