/** Runs functions in the next turn of the event loop, all of them in one callback, so that their calls to Redis are one write. */
export class NextTurn {
  private functions: Array<() => void> = []
  private readonly run = (): void => {
    const { functions } = this
    this.functions = []
    for (const one of functions) one()
  }

  /** @param one must not throw */
  add(one: () => void): void {
    if (this.functions.push(one) === 1) setImmediate(this.run)
  }
}
