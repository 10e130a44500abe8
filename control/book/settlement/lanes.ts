import { Pipeline } from './pipeline.ts'

/** A booking in one lane, and the removal that follows it while the lane books on. */
export interface LaneTask {
  readonly book: () => Promise<void>
  readonly remove: () => Promise<void>
}

interface Lane {
  readonly booking: Pipeline
  readonly removal: Pipeline
}

/** Runs bookings in parallel lanes. Each lane books in the order of its calls. */
export class Lanes {
  private readonly lanes: readonly Lane[]

  constructor(count: number) {
    this.lanes = Array.from({ length: count }, () => ({ booking: new Pipeline(), removal: new Pipeline() }))
  }

  get count(): number {
    return this.lanes.length
  }

  /** Waits for the booking before in this lane, then begins this one. @throws the error of the one before */
  async begin(number: number, { book, remove }: LaneTask): Promise<void> {
    const lane = this.lanes[number]
    if (lane === undefined) throw new RangeError(`there is no lane ${number}`)
    await lane.booking.begin(async () => {
      await book()
      await lane.removal.begin(remove)
    })
  }

  /** Waits until all lanes have booked. @throws the first error of them */
  async booked(): Promise<void> {
    await allOf(this.lanes.map(({ booking }) => booking.drain()))
  }

  /** Waits until everything is booked and removed. @throws the first error */
  async drain(): Promise<void> {
    try {
      await this.booked()
    } finally {
      await allOf(this.lanes.map(({ removal }) => removal.drain()))
    }
  }
}

/** Waits for all, also when one fails. */
async function allOf(promises: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises)) if (result.status === 'rejected') throw result.reason
}
