/** What a turn of the event loop gives to one lane. */
const TURN_MS = 1

interface Job {
  readonly steps: Generator<undefined, unknown, undefined>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Long computations in steps, a few in each turn of the event loop, so that everything else goes on. Each lane works off
 * its jobs one after the other, and no lane waits for another.
 */
export class StepQueue {
  private readonly lanes: readonly Job[][]
  private running = false

  constructor(lanes: number) {
    this.lanes = Array.from({ length: lanes }, () => [])
  }

  /** Jobs of a lane that have not ended. */
  waiting(lane: number): number {
    return this.jobsOf(lane).length
  }

  /** Resolves with what the steps return, or rejects with what they throw. */
  run<Result>(lane: number, steps: Generator<undefined, Result, undefined>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.jobsOf(lane).push({ steps, resolve: resolve as (value: unknown) => void, reject })
      if (!this.running) setImmediate(() => this.turn())
      this.running = true
    })
  }

  private jobsOf(lane: number): Job[] {
    const jobs = this.lanes[lane]
    if (jobs === undefined) throw new RangeError(`there is no lane ${lane}`)
    return jobs
  }

  private turn(): void {
    for (const lane of this.lanes) {
      const [job] = lane
      if (job !== undefined && hasEnded(job)) lane.shift()
    }
    this.running = this.lanes.some((lane) => lane.length > 0)
    if (this.running) setImmediate(() => this.turn())
  }
}

function hasEnded({ steps, resolve, reject }: Job): boolean {
  const endMs = performance.now() + TURN_MS
  try {
    do {
      const { done, value } = steps.next()
      if (done === true) {
        resolve(value)
        return true
      }
    } while (performance.now() < endMs)
    return false
  } catch (error) {
    reject(error)
    return true
  }
}
