/** A sleep that can be ended early, for one sleeper at a time. */
export class WakeableSleep {
  private timer: NodeJS.Timeout | undefined
  private end: (() => void) | undefined
  private woken = false

  /** Resolves after `ms`, or as soon as `wake` is called; immediately when it was called since the last sleep. */
  sleep(ms: number): Promise<void> {
    if (this.woken) {
      this.woken = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.end = () => {
        clearTimeout(this.timer)
        this.end = undefined
        resolve()
      }
      this.timer = setTimeout(this.end, ms)
    })
  }

  /** Ends the sleep; when no sleep is under way, the next one. */
  wake(): void {
    if (this.end === undefined) this.woken = true
    else this.end()
  }

  /** The next sleep lasts its time, although `wake` was called. */
  forget(): void {
    this.woken = false
  }
}
