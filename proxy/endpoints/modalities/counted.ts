import { NO_USAGE } from '../../../contract/money/charge.ts'
import { quantityUnits, type UnitRates } from '../../../contract/money/unitRates.ts'
import type { UsageSourceName } from '../../../contract/wire/settlementNames.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Bill } from '../run/bill.ts'
import { tierRates } from '../run/checkModel.ts'

/**
 * The rates of a model's counted unit, in the tier of a key.
 * @throws GatewayError no_route_for_policy when the model is not on the key's tier
 */
export function countedRates(model: Model, principal: Principal): UnitRates {
  const rates = tierRates(model, principal, model.unitRates, model.unitRatesPrivate)
  if (rates === null) throw new Error(`${model.id} is a ${model.modality} model without a price per ${model.unit}`)
  return rates
}

/**
 * The bill for a quantity.
 * @param source `reported` also where the price is for the input, for which no report is needed
 * @param size of images, where sizes have their own prices
 */
export function countedBill(rates: UnitRates, quantity: number, source: UsageSourceName, size = ''): Bill {
  const bill = { units: quantityUnits(rates, quantity, size), usage: NO_USAGE, quantity, source }
  return rates.sizes.has(size) ? { ...bill, size } : bill
}
