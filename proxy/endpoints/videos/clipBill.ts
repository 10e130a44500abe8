import { NO_USAGE } from '../../../contract/money/charge.ts'
import { quantityUnits, type UnitRates } from '../../../contract/money/unitRates.ts'
import type { Bill } from '../run/bill.ts'

/**
 * What a clip costs.
 * @param reportedSeconds its length as the provider reports it; null where the provider says nothing
 * @param orderedSeconds its length as it was ordered, which counts then
 */
export function billOfClip(rates: UnitRates, reportedSeconds: number | null, orderedSeconds: number): Bill {
  const quantity = reportedSeconds ?? orderedSeconds
  const source = reportedSeconds === null ? 'estimated' : 'reported'
  return { units: quantityUnits(rates, quantity), usage: NO_USAGE, quantity, source }
}
