import type { Answer } from './answer.ts'
import type { LoadLimits } from './limits.ts'

/** How much a load test may send and cost. */
export interface Allowance {
  readonly requests: number
  /** Units of 1e-9 USD; undefined without a bound. */
  readonly costUnits: bigint | undefined
}

/** Ends a load test that has sent or cost what it may, or that the gateway cannot bear. Shared by all its steps. */
export class Guard {
  /** Why no more requests may begin; empty while they may. */
  stopped = ''
  private readonly allowance: Allowance
  private readonly limits: LoadLimits
  /** Whether each of the last answers was an error of the server. */
  private readonly recent: boolean[] = []
  private begun = 0
  private inFlight = 0
  private spentUnits = 0n
  private dearestUnits: bigint | undefined

  constructor(allowance: Allowance, limits: LoadLimits) {
    this.allowance = allowance
    this.limits = limits
  }

  /** Whether a request may begin now; it then counts as begun. Under a bound of cost, it may have to wait for an answer. */
  begin(): boolean {
    if (this.stopped !== '') return false
    if (this.begun >= this.allowance.requests) {
      this.stopped = `the most requests, ${this.allowance.requests}, were sent; --yes allows more`
      return false
    }
    if (!this.isWithinCost()) return false
    this.begun++
    this.inFlight++
    return true
  }

  /** @param chargedUnits undefined where the answer has no receipt */
  end({ status, errorCode }: Answer, chargedUnits: bigint | undefined): void {
    this.inFlight--
    this.noteCost(chargedUnits, errorCode === '')
    const isServerError = errorCode !== '' && (status === 0 || status >= 500)
    this.recent.push(isServerError)
    if (this.recent.length > this.limits.loadStormWindow) this.recent.shift()
    const bad = this.recent.filter(Boolean).length
    if (this.recent.length < this.limits.loadStormWindow) return
    if (bad * 100 < this.limits.loadStormPercent * this.recent.length || this.stopped !== '') return
    this.stopped = `the server failed ${bad} of the last ${this.recent.length} requests`
  }

  /**
   * Every request in flight is taken to cost as much as the dearest one so far; the first one goes alone, because until then
   * nothing is known.
   */
  private isWithinCost(): boolean {
    const { costUnits } = this.allowance
    if (costUnits === undefined) return true
    if (this.dearestUnits === undefined) return this.inFlight === 0
    if (this.spentUnits + this.dearestUnits * BigInt(this.inFlight + 1) <= costUnits) return true
    if (this.inFlight === 0) this.stopped = 'the next request could cost more than is left of --max-cost'
    return false
  }

  private noteCost(chargedUnits: bigint | undefined, isGood: boolean): void {
    if (this.allowance.costUnits === undefined) return
    if (chargedUnits === undefined) {
      if (isGood) this.stopped ||= '--max-cost cannot be kept, because answers have no receipts'
      return
    }
    this.spentUnits += chargedUnits
    if (this.dearestUnits === undefined || chargedUnits > this.dearestUnits) this.dearestUnits = chargedUnits
  }
}
