import { NO_USAGE } from '../../../contract/money/charge.ts'
import { quantityUnits, type UnitRates } from '../../../contract/money/unitRates.ts'
import type { Bill } from '../run/bill.ts'

/**
 * The cost of a clip.
 * @param reportedSeconds its length as the provider reports it; null when the provider reports none
 * @param orderedSeconds its length as ordered, which counts in that case
 */
export function billOfClip(rates: UnitRates, reportedSeconds: number | null, orderedSeconds: number): Bill {
  const quantity = reportedSeconds ?? orderedSeconds
  const source = reportedSeconds === null ? 'estimated' : 'reported'
  return { units: quantityUnits(rates, quantity), usage: NO_USAGE, quantity, source }
}
