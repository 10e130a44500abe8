import { setTimeout as sleep } from 'node:timers/promises'

/** Bounds on the CPU time, and on the turns that wait. */
export interface TurnLimits {
  /** The most of one CPU that all work together may take, in percent. */
  readonly cpuPercent: number
  /** Turns that may wait once the queue was never empty for `overloadMs`; a shorter burst causes no rejections. */
  readonly waitingMax: number
  readonly overloadMs: number
  /** Names whose turns are remembered. */
  readonly namesMax: number
}

interface Waiting {
  readonly name: string
  readonly start: () => void
  readonly refuse: () => void
}

/** The past turns of a name expire at this rate: one per interval. */
const FORGET_MS = 1_000

/**
 * A fair queue for CPU-bound work: runs one task at a time, within a share of the CPU. The name with the fewest recent turns
 * runs next; under overload, the name with the most is rejected. A flood from some networks thus delays and rejects its own
 * requests, not those of others.
 */
export class FairTurns {
  private readonly limits: TurnLimits
  /** By name, the time at which its turns will have expired; least recently used first. */
  private readonly forgottenAtMs = new Map<string, number>()
  private readonly waiting: Waiting[] = []
  private isBusy = false
  private busySinceMs = 0

  constructor(turnLimits: TurnLimits) {
    this.limits = turnLimits
  }

  /**
   * Waits for a turn of this name and runs the work. The CPU time of the process until it resolves counts as that of the work,
   * and no more than the time that passes: a process that stands still has used nothing.
   * @returns what the work returns; undefined when the turn was refused and nothing was done
   */
  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result | undefined> {
    if (!(await this.turn(name))) return undefined
    this.note(name)
    const startedAtMs = performance.now()
    const before = process.cpuUsage()
    try {
      return await work()
    } finally {
      const { user, system } = process.cpuUsage(before)
      const usedMs = Math.min((user + system) / 1_000, performance.now() - startedAtMs)
      void this.rest(usedMs).then(() => this.next())
    }
  }

  /** @returns false when the turn is refused */
  private turn(name: string): Promise<boolean> {
    if (!this.isBusy) {
      this.isBusy = true
      this.busySinceMs = performance.now()
      return Promise.resolve(true)
    }
    return new Promise((resolve) => {
      this.waiting.push({ name, start: () => resolve(true), refuse: () => resolve(false) })
      if (this.isOverloaded()) this.take(this.mostServed()).refuse()
    })
  }

  private isOverloaded(): boolean {
    const { waitingMax, overloadMs } = this.limits
    return this.waiting.length > waitingMax && performance.now() - this.busySinceMs > overloadMs
  }

  /** Pauses, so that the rest of the CPU is left to others. */
  private async rest(usedMs: number): Promise<void> {
    const { cpuPercent } = this.limits
    await sleep((usedMs * (100 - cpuPercent)) / cpuPercent)
  }

  private next(): void {
    this.isBusy = this.waiting.length > 0
    if (this.isBusy) this.take(this.leastServed()).start()
  }

  private take(index: number): Waiting {
    const [waiting] = this.waiting.splice(index, 1)
    if (waiting === undefined) throw new RangeError('nobody waits there')
    return waiting
  }

  /** The first of those with the fewest turns. */
  private leastServed(): number {
    const served = this.waiting.map(({ name }) => this.forgottenAt(name))
    return served.indexOf(Math.min(...served))
  }

  /** The last of those with the most turns; each waiting one already counts as a turn. */
  private mostServed(): number {
    const waiting = new Map<string, number>()
    const served = this.waiting.map(({ name }) => {
      const before = waiting.get(name) ?? 0
      waiting.set(name, before + 1)
      return this.forgottenAt(name) + before * FORGET_MS
    })
    return served.lastIndexOf(Math.max(...served))
  }

  private forgottenAt(name: string): number {
    return Math.max(this.forgottenAtMs.get(name) ?? 0, performance.now())
  }

  private note(name: string): void {
    const forgottenAtMs = this.forgottenAt(name) + FORGET_MS
    this.forgottenAtMs.delete(name)
    this.forgottenAtMs.set(name, forgottenAtMs)
    const [oldest] = this.forgottenAtMs.keys()
    if (this.forgottenAtMs.size > this.limits.namesMax && oldest !== undefined) this.forgottenAtMs.delete(oldest)
  }
}
