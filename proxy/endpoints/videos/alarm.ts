/** A pause that can be ended early. One that is rung while nobody waits ends the next pause at once. */
export class Alarm {
  private timer: NodeJS.Timeout | undefined
  private wakeUp: (() => void) | undefined
  private rung = false

  /** Resolves after `ms`, or as soon as `ring` is called. */
  wait(ms: number): Promise<void> {
    if (this.rung) {
      this.rung = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.wakeUp = () => {
        clearTimeout(this.timer)
        this.wakeUp = undefined
        resolve()
      }
      this.timer = setTimeout(this.wakeUp, ms)
    })
  }

  ring(): void {
    if (this.wakeUp === undefined) this.rung = true
    else this.wakeUp()
  }
}
