/** One that waits for a place. */
interface Waiting {
  readonly start: () => void
  readonly refuse: () => void
}

/**
 * Places for work, taken by names in turn: those of one name are first in, first out, and after each its name is last in line.
 * Where too many wait, the newest of the name with the most is refused. One customer's flood so delays and refuses its own work.
 */
export class Turns {
  private free: number
  private readonly waitingMax: number
  /** By name, in the order of their turns; no name is without one that waits. */
  private readonly waiting = new Map<string, Waiting[]>()
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
      const end = (placed: boolean): void => {
        signal.removeEventListener('abort', onAbort)
        resolve(placed)
      }
      const one = { start: () => end(true), refuse: () => end(false) }
      const onAbort = (): void => {
        this.remove(name, one)
        one.refuse()
      }
      signal.addEventListener('abort', onAbort)
      this.add(name, one)
      if (this.count > this.waitingMax) this.refuseNewest(this.longest())
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
    const one = line.shift()
    this.count--
    this.waiting.delete(name)
    if (line.length > 0) this.waiting.set(name, line)
    one?.start()
  }

  private add(name: string, one: Waiting): void {
    const line = this.waiting.get(name)
    if (line === undefined) this.waiting.set(name, [one])
    else line.push(one)
    this.count++
  }

  private remove(name: string, one: Waiting): void {
    const line = this.waiting.get(name) ?? []
    const at = line.indexOf(one)
    if (at < 0) return
    line.splice(at, 1)
    this.count--
    if (line.length === 0) this.waiting.delete(name)
  }

  private longest(): string {
    let found = ''
    let most = 0
    for (const [name, { length }] of this.waiting) if (length >= most) [found, most] = [name, length]
    return found
  }

  private refuseNewest(name: string): void {
    const newest = this.waiting.get(name)?.at(-1)
    if (newest === undefined) return
    this.remove(name, newest)
    newest.refuse()
  }
}
