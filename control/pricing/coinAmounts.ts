import { UNITS_PER_USD } from '../contract/units.ts'
import type { Queryable } from '../db/pool.ts'
import { CoinPrices } from './sheetReads.ts'
import { latestSheet } from './sheetStore.ts'

/** USD per coin in units, by the price sheet in force; undefined before the first sheet. */
export async function coinUsdUnitsInForce(db: Queryable): Promise<number | undefined> {
  const sheet = await latestSheet(db)
  return sheet === undefined ? undefined : new CoinPrices(db).ofSheet(sheet.version)
}

/** Coin that units are worth, as a decimal; rounded down so that a balance is never overstated. */
export function coinText(units: number, usdUnits: number): string {
  return decimalOf((BigInt(units) * BigInt(UNITS_PER_USD)) / BigInt(usdUnits))
}

/** The sum of amounts in units as a decimal of USD, exact also beyond what one amount can be. */
export function sumText(amounts: readonly number[]): string {
  return decimalOf(amounts.reduce((sum, units) => sum + BigInt(units), 0n))
}

/** @param nanos times 1e-9, not negative */
function decimalOf(nanos: bigint): string {
  const digits = nanos.toString().padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return digits.slice(0, -9) + (fraction === '' ? '' : `.${fraction}`)
}
