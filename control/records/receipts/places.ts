/** A bounded number of places, with a lower bound for each caller. */
export class Places {
  private readonly most: number
  private readonly mostOfOne: number
  private taken = 0
  private readonly byCaller = new Map<string, number>()

  constructor(most: number, mostOfOne = most) {
    this.most = most
    this.mostOfOne = mostOfOne
  }

  /** Does work in a place of the caller's. @returns undefined, without doing the work, when no place is free */
  async use<T>(caller: string, work: () => Promise<T>): Promise<T | undefined> {
    const own = this.byCaller.get(caller) ?? 0
    if (this.taken >= this.most || own >= this.mostOfOne) return undefined
    this.taken++
    this.byCaller.set(caller, own + 1)
    try {
      return await work()
    } finally {
      this.taken--
      const left = (this.byCaller.get(caller) ?? 1) - 1
      if (left > 0) this.byCaller.set(caller, left)
      else this.byCaller.delete(caller)
    }
  }
}
