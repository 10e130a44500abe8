/**
 * A pipeline of one slot: while a task runs, the caller prepares the next one. An error of a task is thrown by the next call of
 * `begin` or `drain`, and only there.
 */
export class Pipeline {
  private last: Promise<void> = Promise.resolve()

  /** Waits for the task before, then begins this one. @throws the error of the task before; this one is not begun then */
  async begin(task: () => Promise<void>): Promise<void> {
    await this.drain()
    this.last = task()
    // The next call throws the error; until then it must not count as an unhandled rejection.
    this.last.catch(() => {})
  }

  /** Waits until nothing runs. @throws the error of the last task, once */
  async drain(): Promise<void> {
    const last = this.last
    this.last = Promise.resolve()
    await last
  }
}
