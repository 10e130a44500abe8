import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { formatUsd, MAX_UNITS, parseUsd, UNITS_PER_USD } from '../../../contract/money/units.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { CoinPrices } from './sheetReads.ts'
import { latestSheet } from './sheetStore.ts'

/** USD per coin in units, by the price sheet in force; undefined before the first sheet. */
export async function coinUsdUnitsInForce(db: Queryable): Promise<number | undefined> {
  const sheet = await latestSheet(db)
  return sheet === undefined ? undefined : new CoinPrices(db).ofSheet(sheet.version)
}

/** As `coinUsdUnitsInForce`, where coin is moved. @throws GatewayError admission_unavailable before the first sheet */
export async function coinPrice(db: Queryable): Promise<number> {
  const usdUnits = await coinUsdUnitsInForce(db)
  if (usdUnits !== undefined) return usdUnits
  throw new GatewayError('admission_unavailable', { message: 'A coin has no price yet; try again later.' })
}

/**
 * Units that an amount of coin is worth, rounded down.
 * @param coinNanos coin times 1e9, as `parseUsd` reads it
 * @returns undefined when it is more than an account can hold
 */
export function unitsOfCoin(coinNanos: number, usdUnits: number): number | undefined {
  const units = (BigInt(coinNanos) * BigInt(usdUnits)) / BigInt(UNITS_PER_USD)
  return units > BigInt(MAX_UNITS) ? undefined : Number(units)
}

/**
 * The units of a field of coin, whose form its schema has checked.
 * @throws GatewayError invalid_request for zero, for less than a unit, and for more than an account can hold
 */
export function readCoin(value: unknown, usdUnits: number, param: string): number {
  const nanos = typeof value === 'string' ? parseUsd(value) : undefined
  const units = nanos === undefined ? undefined : unitsOfCoin(nanos, usdUnits)
  if (units !== undefined && units > 0) return units
  throw invalidRequest(`${param} must be a decimal string of coin such as "2.5", above zero.`, param)
}

/** An amount in all its forms. */
export function amountJson(units: number, coinUsdUnits: number) {
  return { units: String(units), usd: formatUsd(units), coin: coinText(units, coinUsdUnits) }
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
