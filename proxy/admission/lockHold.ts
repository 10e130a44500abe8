import { chargeUnits, type TokenUsage, worstCaseUnits } from '../../contract/money/charge.ts'
import { type LockCharge, lockCharge, sheetRest, wholeMicros } from '../../contract/money/lockCharge.ts'
import { MAX_UNITS } from '../../contract/money/units.ts'
import type { LockSeries } from '../catalog/lockSeries.ts'
import { grantedOutputTokens, type HoldSize, holdRates, sizeHold } from './holdSize.ts'
import type { LockWant } from './holds.ts'

/**
 * The hold of a request that burns tokens of a lock: the tokens that the account has cover the worst case at the prices of
 * the series; if they cover a part, credits and coin cover the remaining share of the worst case at the price sheet.
 */
export class LockHold implements LockWant {
  readonly wantUnits: number
  private readonly series: LockSeries
  private readonly sheet: HoldSize
  /** The worst case at the prices of the series. */
  private readonly locked: HoldSize

  /** @param sheet the worst case at the price sheet @param hasImages as of `holdRates` */
  constructor(series: LockSeries, sheet: HoldSize, hasImages: boolean) {
    const { promptTokens, outputTokens, wantUnits, leastUnits } = sheet
    const set = holdRates(series.rates, promptTokens, hasImages)
    this.series = series
    this.sheet = sheet
    this.locked = sizeHold(set, promptTokens, outputTokens, leastUnits < wantUnits)
    this.wantUnits = this.atLock(this.locked.wantUnits)
  }

  get seriesId(): string {
    return this.series.id
  }

  get microUnits(): number {
    return this.series.microUnits
  }

  /** Whether tokens can pay for it: its cost is above zero and within the range of exact integers. */
  get isBurnable(): boolean {
    return this.wantUnits > 0 && this.locked.wantUnits < MAX_UNITS && this.sheet.wantUnits < MAX_UNITS
  }

  rest(lockUnits: number): { wantUnits: number; leastUnits: number } {
    return {
      wantUnits: sheetRest(this.sheet.wantUnits, this.wantUnits, lockUnits),
      leastUnits: sheetRest(this.sheet.leastUnits, this.atLock(this.locked.leastUnits), lockUnits),
    }
  }

  /**
   * The output tokens that a granted hold pays for, at most those it was sized for.
   * @param lockUnits the part of the hold that is tokens of the lock
   */
  outputTokens(heldUnits: number, lockUnits: number): number {
    const { outputTokens, wantUnits } = this.sheet
    if (lockUnits === 0) return grantedOutputTokens(this.sheet, heldUnits)
    const restUnits = heldUnits - lockUnits
    if (restUnits >= sheetRest(wantUnits, this.wantUnits, lockUnits)) return outputTokens
    // The cost in addition to the tokens of the lock rises with the length of the output, so a binary search finds the limit.
    let [least, most] = [0, outputTokens]
    while (least < most) {
      const tokens = Math.ceil((least + most) / 2)
      if (this.restFor(tokens, lockUnits) <= restUnits) least = tokens
      else most = tokens - 1
    }
    return least
  }

  /**
   * The charge of a usage.
   * @param sheetUnits its charge at the price sheet
   * @param lockUnits the part of the hold that is tokens of the lock
   */
  charge(usage: TokenUsage, sheetUnits: number, lockUnits: number): LockCharge {
    return lockCharge(sheetUnits, this.atLock(chargeUnits(this.series.rates, usage)), lockUnits)
  }

  /** Units that the sheet has to pay for the prompt and this many output tokens. */
  private restFor(outputTokens: number, lockUnits: number): number {
    const at = ({ promptTokens, promptPrice, outputPrice }: HoldSize): number =>
      worstCaseUnits(promptTokens, promptPrice, outputTokens, outputPrice)
    return sheetRest(at(this.sheet), this.atLock(at(this.locked)), lockUnits)
  }

  private atLock(units: number): number {
    return wholeMicros(units, this.series.microUnits)
  }
}
