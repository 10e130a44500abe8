/** The log lines of an outage. */
export interface OutageLines {
  /** At its start. */
  readonly began: (error: unknown) => void
  /** While it lasts, once in the interval. @param failures since the last line */
  readonly goesOn: (error: unknown, failures: number) => void
  /** @param outageMs how long it lasted */
  readonly ended: (outageMs: number) => void
}

/**
 * Turns the failures of a dependency that is away into one line at the start of the outage, one at its end, and one in each
 * interval between. Several connections to the dependency share one: the outage ends when all of them work again.
 */
export class OutageLog {
  private readonly lines: OutageLines
  private readonly intervalMs: number
  private readonly now: () => number
  private readonly failing = new Set<string>()
  private beganAtMs = 0
  private toldAtMs = 0
  private failures = 0

  /** @param now a clock in milliseconds */
  constructor(lines: OutageLines, intervalMs: number, now: () => number = () => performance.now()) {
    this.lines = lines
    this.intervalMs = intervalMs
    this.now = now
  }

  /** @param connection by any name of its own */
  failed(connection: string, error: unknown): void {
    const nowMs = this.now()
    if (this.failing.size === 0) {
      this.beganAtMs = nowMs
      this.tell(nowMs)
      this.lines.began(error)
    } else {
      this.failures++
      if (nowMs - this.toldAtMs >= this.intervalMs) {
        this.lines.goesOn(error, this.failures)
        this.tell(nowMs)
      }
    }
    this.failing.add(connection)
  }

  works(connection: string): void {
    if (!this.failing.delete(connection) || this.failing.size > 0) return
    this.lines.ended(this.now() - this.beganAtMs)
  }

  private tell(nowMs: number): void {
    this.toldAtMs = nowMs
    this.failures = 0
  }
}
