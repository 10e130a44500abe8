import type { LabelledGauge } from '../../runtime/metrics/metricGroups.ts'
import type { BookLimits } from '../limits.ts'
import type { KeySpending } from './keyUsage.ts'

type SpendingLimits = Pick<BookLimits, 'topSpendMs' | 'topSpendKeysMax' | 'topSpendShownMax'>

/**
 * The keys that spend most, by what this control books: their charges in the last whole window. Most keys are in it for a moment
 * alone, so that what is counted and what is shown are bounded.
 */
export class TopSpenders {
  readonly gauge: LabelledGauge = {
    name: 'top_spend_units',
    help: 'Charges of the keys that spend most, in the last whole window of topSpendMs',
    labels: ['account', 'key'],
    read: () =>
      this.read().map(({ accountId, keyId, units }) => ({ labels: { account: accountId, key: keyId }, count: units })),
  }
  private readonly limits: SpendingLimits
  private readonly now: () => number
  private units = new Map<string, KeySpending>()
  private shown: readonly KeySpending[] = []
  private endsAtMs: number

  /** @param now a clock in milliseconds */
  constructor(limits: SpendingLimits, now: () => number = () => performance.now()) {
    this.limits = limits
    this.now = now
    this.endsAtMs = now() + limits.topSpendMs
  }

  /** Adds charges that are booked; those of keys beyond the bound count from the next window on. */
  note(spending: readonly KeySpending[]): void {
    this.turn()
    for (const { keyId, accountId, units } of spending) {
      const known = this.units.get(keyId)
      if (known !== undefined) known.units += units
      else if (this.units.size < this.limits.topSpendKeysMax) this.units.set(keyId, { keyId, accountId, units })
    }
  }

  /** The first of the last whole window; none before the end of the first. */
  read(): readonly KeySpending[] {
    this.turn()
    return this.shown
  }

  private turn(): void {
    const nowMs = this.now()
    if (nowMs < this.endsAtMs) return
    const { topSpendMs, topSpendShownMax } = this.limits
    // Nothing at all was booked in the last window when it is over for longer than another one.
    const isLast = nowMs < this.endsAtMs + topSpendMs
    const spending = isLast ? [...this.units.values()].filter(({ units }) => units > 0) : []
    this.shown = spending.sort((a, b) => b.units - a.units).slice(0, topSpendShownMax)
    this.units = new Map()
    this.endsAtMs += topSpendMs * Math.ceil((nowMs - this.endsAtMs + 1) / topSpendMs)
  }
}
