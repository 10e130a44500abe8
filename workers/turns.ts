/** Ends the wait of one for a place. */
type End = (isPlaced: boolean) => void

/**
 * Places for work, taken by names in turn: those of one name are first in, first out, and after each its name is last in line.
 * Where too many wait, the newest of the name with the most is refused. One customer's flood so delays and refuses its own work.
 */
export class Turns {
  private free: number
  private readonly waitingMax: number
  /** By name, in the order of their turns; no name is without one that waits. */
  private readonly waiting = new Map<string, End[]>()
  private count = 0

  /** @param places that may be taken at the same time @param waitingMax how many may wait for one, over all names */
  constructor(places: number, waitingMax: number) {
    this.free = places
    this.waitingMax = waitingMax
  }

  /** @returns true with a place, which its holder gives back; false where too many wait, or the signal ended the wait */
  take(name: string, signal: AbortSignal): Promise<boolean> {
    if (this.free > 0) {
      this.free--
      return Promise.resolve(true)
    }
    return new Promise((resolve) => {
      const end = (isPlaced: boolean): void => {
        signal.removeEventListener('abort', onAbort)
        resolve(isPlaced)
      }
      const onAbort = (): void => this.refuse(name, end)
      signal.addEventListener('abort', onAbort)
      this.add(name, end)
      if (this.count > this.waitingMax) this.refuseNewest()
    })
  }

  /** A place is free again: the next in line takes it. */
  giveBack(): void {
    const [next] = this.waiting
    if (next === undefined) {
      this.free++
      return
    }
    const [name, line] = next
    const end = line.shift()
    this.count--
    this.waiting.delete(name)
    if (line.length > 0) this.waiting.set(name, line)
    end?.(true)
  }

  private add(name: string, end: End): void {
    const line = this.waiting.get(name)
    if (line === undefined) this.waiting.set(name, [end])
    else line.push(end)
    this.count++
  }

  private refuse(name: string, end: End): void {
    const line = this.waiting.get(name) ?? []
    const at = line.indexOf(end)
    if (at < 0) return
    line.splice(at, 1)
    this.count--
    if (line.length === 0) this.waiting.delete(name)
    end(false)
  }

  /** The newest of the name with the most; of several such names, of the last in line. */
  private refuseNewest(): void {
    let [name, longest]: [string, readonly End[]] = ['', []]
    for (const one of this.waiting) if (one[1].length >= longest.length) [name, longest] = one
    const newest = longest.at(-1)
    if (newest !== undefined) this.refuse(name, newest)
  }
}
