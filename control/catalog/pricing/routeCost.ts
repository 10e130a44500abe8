import { COUNTED_BY, type Modality } from '../../../contract/catalog/catalog.ts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { statedUnits } from '../../runtime/files/statedUnits.ts'
import type { AmountsContent } from './catalogContent.ts'
import type { AmountKey } from './price.ts'

/** Prompts are about three times as long as their answers; the usual blend of prices where routes are compared. */
const INPUT_PARTS = 3

/**
 * The price of a route's provider, stated with the keys of the model's price, as the one number by which `:cheapest` orders
 * routes: for tokens three parts input and one part output, else the price of the counted unit. It is never shown to clients.
 * @returns units, at most MAX_UNITS
 */
export function routeCostUnits(cost: AmountsContent, modality: Modality): number {
  const counted = COUNTED_BY[modality]
  const units = (key: AmountKey): number => statedUnits(cost[key] ?? '0')
  return Math.min(counted === '' ? INPUT_PARTS * units('input') + units('output') : units(counted), MAX_UNITS)
}
