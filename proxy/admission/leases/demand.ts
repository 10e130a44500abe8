import type { AdmissionLimits } from '../limits.ts'

/** More is leased once less than this part of the need is left. */
const LOW_MARK = 0.5

type DemandLimits = Pick<AdmissionLimits, 'leaseDemandMs' | 'leaseDemandRequests'>

/** The recent use of a key, in periods, from which the lease beyond the needs of waiting requests is computed. */
export class Demand {
  private startMs = 0
  private units = 0
  private requests = 0
  private unitsBefore = 0
  private requestsBefore = 0
  private readonly limits: DemandLimits

  constructor(limits: DemandLimits) {
    this.limits = limits
  }

  /** Notes a hold. */
  note(units: number, nowMs: number): void {
    this.advance(nowMs, this.limits.leaseDemandMs)
    this.units += units
    this.requests++
  }

  /**
   * The expected need of the key in the next periods: twice its use in the busier of the last two; nothing for a key that is
   * used rarely, which leases for each hold alone.
   */
  next(nowMs: number): { units: number; requests: number } {
    this.advance(nowMs, this.limits.leaseDemandMs)
    const requests = Math.max(this.requests, this.requestsBefore)
    if (requests < this.limits.leaseDemandRequests) return NOTHING
    return { units: 2 * Math.max(this.units, this.unitsBefore), requests: 2 * requests }
  }

  /** Whether these are so much of the expected need that no more has to be leased yet. */
  isCovered(units: number, requests: number, nowMs: number): boolean {
    const need = this.next(nowMs)
    return need.requests === 0 || (units >= need.units * LOW_MARK && requests >= need.requests * LOW_MARK)
  }

  private advance(nowMs: number, stretchMs: number): void {
    const age = nowMs - this.startMs
    if (age < stretchMs) return
    const isNext = age < 2 * stretchMs
    this.unitsBefore = isNext ? this.units : 0
    this.requestsBefore = isNext ? this.requests : 0
    this.units = 0
    this.requests = 0
    this.startMs = nowMs
  }
}

const NOTHING = { units: 0, requests: 0 } as const
