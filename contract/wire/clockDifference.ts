/** How far this machine's clock is ahead of Redis's, which all parts go by where it matters. */
export class ClockDifference {
  /** Below zero when it is behind; zero before it is known. */
  ms = 0
  /** How long the last answer took, in milliseconds. */
  roundTripMs = 0
  private readonly differenceMaxMs: number
  private readonly onChange: (differs: boolean, ms: number) => void
  private differs = false

  /**
   * @param differenceMaxMs that the clocks may differ by
   * @param onChange called when they begin to differ by more, and when they agree again: by no more than half of it
   */
  constructor(differenceMaxMs: number, onChange: (differs: boolean, ms: number) => void) {
    this.differenceMaxMs = differenceMaxMs
    this.onChange = onChange
  }

  /**
   * Takes an answer of Redis.
   * @param waitedMs for it: it is of any moment of that time
   * @param redisMs the time in it, in milliseconds since 1970
   */
  note(waitedMs: number, redisMs: number, nowMs = Date.now()): void {
    this.roundTripMs = waitedMs
    this.ms = nowMs - waitedMs / 2 - redisMs
    const surelyMs = Math.abs(this.ms) - waitedMs / 2
    const differs = this.differs ? surelyMs > this.differenceMaxMs / 2 : surelyMs > this.differenceMaxMs
    if (differs === this.differs) return
    this.differs = differs
    this.onChange(differs, this.ms)
  }
}
