import type { sluice } from '../wire/generated/messages.js'
import { MAX_UNITS } from './units.ts'

/** The price of something that is counted. */
export interface UnitRates {
  /** Units of money for `per` of the counted. */
  readonly priceUnits: number
  readonly per: number
  /** Prices by size, WxH, in place of `priceUnits`. */
  readonly sizes: ReadonlyMap<string, number>
}

/** The rates of a record; null when the model is priced by the token. */
export function unitRates(record: sluice.UnitRates.$Properties | null | undefined): UnitRates | null {
  if (record === null || record === undefined) return null
  return {
    priceUnits: record.priceUnits ?? 0,
    per: Math.max(1, record.per ?? 1),
    sizes: new Map(Object.entries(record.sizes ?? {})),
  }
}

/**
 * The price of a quantity: one product, one division, rounded up.
 * @param quantity a safe integer, not negative
 * @param size of an image, WxH; a size without its own price has the default price
 * @returns units, exact; MAX_UNITS when the charge would exceed what any hold can cover
 */
export function quantityUnits(rates: UnitRates, quantity: number, size = ''): number {
  const price = rates.sizes.get(size) ?? rates.priceUnits
  const per = BigInt(rates.per)
  const units = (BigInt(quantity) * BigInt(price) + per - 1n) / per
  return units > BigInt(MAX_UNITS) ? MAX_UNITS : Number(units)
}
