import { GatewayError } from '../../../../contract/errors/errors.ts'

/** A bounded number of pieces of work that may be under way concurrently. */
export class Places {
  private readonly max: number
  private takenCount = 0

  constructor(max: number) {
    this.max = max
  }

  /** How many are taken. */
  get taken(): number {
    return this.takenCount
  }

  /** Does a piece of work in a place. @throws GatewayError payments_busy when all are taken */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.takenCount >= this.max) throw new GatewayError('payments_busy', { retryAfterSeconds: 1 })
    this.takenCount++
    try {
      return await work()
    } finally {
      this.takenCount--
    }
  }
}
