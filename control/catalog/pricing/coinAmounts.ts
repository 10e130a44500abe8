import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { coinDecimal, coinFor, valueOfCoin } from '../../../contract/money/coin.ts'
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

/** USD per coin in units, by the price sheet in force; before the first sheet, a coin counts as one US dollar. */
export async function bookPrice(db: Queryable): Promise<number> {
  return (await coinUsdUnitsInForce(db)) ?? UNITS_PER_USD
}

/** As `bookPrice`, by the sheet of a request. @throws Error when there are sheets, but never was this one */
export async function bookPriceOfSheet(db: Queryable, version: number): Promise<number> {
  return (await latestSheet(db)) === undefined ? UNITS_PER_USD : new CoinPrices(db).ofSheet(version)
}

/** Coin and its worth. */
export interface CoinAmount {
  /** Integer of 1e-9 coin. */
  readonly nanos: number
  readonly units: number
}

/** Coin with its worth, as it is shown: a worth above MAX_UNITS counts as MAX_UNITS. @param usdUnits units in one coin */
export function coinAmount(nanos: number, usdUnits: number): CoinAmount {
  return { nanos, units: valueOfCoin(nanos, usdUnits) }
}

/** Coin with its worth, as it is booked; undefined for coin that is worth more than can be booked. */
export function bookableCoin(nanos: number, usdUnits: number): CoinAmount | undefined {
  const amount = coinAmount(nanos, usdUnits)
  return amount.units === MAX_UNITS && usdUnits !== UNITS_PER_USD ? undefined : amount
}

/**
 * The field `amount`, which is coin and whose form its schema has checked. It may be worth less than a unit, for those that have a
 * minimum.
 * @throws GatewayError invalid_request for zero, and for more than an account can hold
 */
export function readAnyCoin(value: unknown, usdUnits: number): CoinAmount {
  const nanos = typeof value === 'string' ? parseUsd(value) : undefined
  if (nanos === undefined || nanos === 0) {
    throw invalidRequest('amount must be a decimal string of coin such as "2.5", above zero.', 'amount')
  }
  const amount = bookableCoin(nanos, usdUnits)
  if (amount !== undefined) return amount
  throw invalidRequest('amount is more coin than an account can hold; send less.', 'amount')
}

/** As `readAnyCoin`. @throws GatewayError invalid_request also for less than a unit is worth */
export function readCoin(value: unknown, usdUnits: number): CoinAmount {
  const amount = readAnyCoin(value, usdUnits)
  if (amount.units > 0) return amount
  const least = coinDecimal(coinFor(1, usdUnits))
  throw invalidRequest(`amount is worth less than ${formatUsd(1)} USD; send at least ${least} coin.`, 'amount')
}

/** An amount that is coin, in all its forms. */
export function coinAmountJson({ nanos, units }: CoinAmount) {
  return { units: String(units), usd: formatUsd(units), coin: coinDecimal(nanos) }
}

/** An amount of US dollars in all its forms. */
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
