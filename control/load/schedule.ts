/** When the requests of an open loop are due: evenly spaced, whatever the answers do. */
export class Schedule {
  /** Requests in all. */
  readonly count: number
  private readonly startMs: number
  private readonly spaceMs: number

  /** @param ratePerSecond above 0 @param most requests at most */
  constructor(startMs: number, ratePerSecond: number, seconds: number, most: number) {
    this.startMs = startMs
    this.spaceMs = 1_000 / ratePerSecond
    this.count = Math.min(most, Math.max(1, Math.floor(ratePerSecond * seconds)))
  }

  /** When a request is due. @param place from 0 */
  dueMs(place: number): number {
    return this.startMs + place * this.spaceMs
  }

  /** How many are due by then. */
  dueBy(nowMs: number): number {
    if (nowMs < this.startMs) return 0
    return Math.min(this.count, Math.floor((nowMs - this.startMs) / this.spaceMs) + 1)
  }
}
