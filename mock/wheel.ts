const SLOTS = 1_024

/** Something that wants to be called at a time. */
export interface Timed {
  /** Milliseconds of the wheel's clock at which `fire` is due. */
  readonly dueMs: number
  fire(nowMs: number): void
}

/**
 * One timer for thousands of paced streams: a wheel of slots of one millisecond, turned by a single interval that runs
 * while anything waits.
 */
export class TimerWheel {
  private readonly slots: Timed[][] = Array.from({ length: SLOTS }, () => [])
  /** While true, no timer fires; afterwards all timers that became due meanwhile fire immediately. */
  held = false
  private waiting = 0
  private turnedMs = 0
  private interval: NodeJS.Timeout | undefined

  /** The wheel's clock in whole milliseconds. */
  nowMs(): number {
    return Math.floor(performance.now())
  }

  /** Calls `timed.fire` once, at `timed.dueMs` or as soon after as the event loop allows. */
  add(timed: Timed): void {
    this.waiting++
    if (this.interval === undefined) this.start()
    this.place(timed)
  }

  stop(): void {
    clearInterval(this.interval)
    this.interval = undefined
    this.waiting = 0
    for (const slot of this.slots) slot.length = 0
  }

  private place(timed: Timed): void {
    const slot = Math.max(timed.dueMs, this.turnedMs + 1) % SLOTS
    this.slots[slot]?.push(timed)
  }

  private start(): void {
    this.turnedMs = this.nowMs()
    this.interval = setInterval(() => this.turn(), 1)
  }

  private turn(): void {
    if (this.held) return
    const now = this.nowMs()
    // An event loop that stalled for more than a turn of the wheel visits each slot once.
    this.turnedMs = Math.max(this.turnedMs, now - SLOTS)
    while (this.turnedMs < now) {
      this.turnedMs++
      const slot = this.turnedMs % SLOTS
      const due = this.slots[slot]
      if (due === undefined || due.length === 0) continue
      this.slots[slot] = []
      for (const timed of due) {
        if (timed.dueMs > now) {
          this.place(timed)
          continue
        }
        this.waiting--
        timed.fire(now)
      }
    }
    if (this.waiting === 0) {
      clearInterval(this.interval)
      this.interval = undefined
    }
  }
}
