import type { Background } from './background.ts'
import { bringForward, keepBack } from './background.ts'
import type { TargetName } from './cases.ts'
import type { Child } from './child.ts'
import { loadOnce } from './child.ts'
import { cpuMicros, residentBytes } from './cpu.ts'
import type { LoadOptions, LoadTarget } from './load/options.ts'
import type { Sample } from './results.ts'
import type { Stack } from './targets/stack.ts'

/** A target with the processes whose CPU time counts. */
export interface Measured {
  readonly name: TargetName
  readonly target: LoadTarget
  /** The port whose requests it forwards over TLS, if it is another port. */
  readonly tlsPort?: number
  readonly pids: readonly number[]
  /** The stack whose book grows with every request, when there is one. */
  readonly stack?: Stack
  /** It knows models by their public names, not by those of the provider. */
  readonly hasCatalog: boolean
}

/** Runs loads one after the other, each from a state at rest, and counts the requests that the book has to contain. */
export class Runner {
  /** How control and PostgreSQL were kept back at the last load. */
  background: Background = 'none'
  private readonly load: Child
  private readonly requests = new Map<Stack, number>()

  constructor(load: Child) {
    this.load = load
  }

  /** From now on waits until the stack is idle before every load, and counts its requests. */
  add(stack: Stack): void {
    this.requests.set(stack, 0)
  }

  /** Forgets a stack that is about to be stopped. */
  remove(stack: Stack): void {
    this.requests.delete(stack)
  }

  /** Requests that were sent to the stack's gateway, including those that only checked answers. */
  requestsTo(stack: Stack): number {
    return this.requests.get(stack) ?? 0
  }

  /** Counts requests that another program than the load generator has sent. */
  count(stack: Stack, requests: number): void {
    this.requests.set(stack, this.requestsTo(stack) + requests)
  }

  /** Waits until everything that has ended is booked, and lets control and PostgreSQL run at normal priority. */
  async rest(): Promise<void> {
    bringForward(this.backgroundPids())
    for (const stack of this.requests.keys()) await stack.booked()
  }

  /**
   * Runs one load and measures its cost.
   * @throws Error when an answer was wrong
   */
  async run(one: Measured, options: LoadOptions): Promise<Sample> {
    // Booking continues after a load, and must not count for the next one.
    await this.rest()
    this.background = keepBack(this.backgroundPids())
    return this.runNow(one, options)
  }

  /** Runs a load whose requests wait for control, which therefore runs at normal priority. */
  async meetKeys(one: Measured, options: LoadOptions): Promise<Sample> {
    await this.rest()
    return this.runNow(one, options)
  }

  private async runNow(one: Measured, options: LoadOptions): Promise<Sample> {
    const cpu = () => one.pids.reduce((sum, pid) => sum + cpuMicros(pid), 0)
    const redis = () => (one.stack === undefined ? 0 : cpuMicros(one.stack.redisPid))
    const [cpuBefore, redisBefore] = [cpu(), redis()]
    const load = await loadOnce(this.load, options)
    const sample = {
      cpuMicros: cpu() - cpuBefore,
      redisMicros: redis() - redisBefore,
      load,
      residentBytes: one.pids.reduce((sum, pid) => sum + residentBytes(pid), 0),
    }
    // Every load begins with one request that is checked and not timed.
    if (one.stack !== undefined) this.count(one.stack, load.requests + 1)
    if (load.wrong > 0) {
      throw new Error(`${one.name}: ${load.wrong} of ${load.requests} answers were wrong; ${load.firstWrong}`)
    }
    return sample
  }

  // The set of PostgreSQL's backends changes.
  private backgroundPids(): number[] {
    return [...this.requests.keys()].flatMap((stack) => stack.backgroundPids())
  }
}
