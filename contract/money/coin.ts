import { formatUsd, MAX_UNITS, UNITS_PER_USD } from './units.ts'

/** Coin is counted in integers of 1e-9 coin (nanos). At one US dollar a coin, one nano is worth one unit. */
export const NANOS_PER_COIN = 1_000_000_000
/**
 * The bounds of the price of one coin, in units: from 0.001 to 100,000 USD. With a lower price, an account could hold too
 * little; with a higher one, the smallest part of a coin would cost more than a small request. Within them all conversions
 * are exact.
 */
export const COIN_USD_UNITS_MIN = 1_000_000
export const COIN_USD_UNITS_MAX = 100_000_000_000_000

/** Both 1e9: the base in which amounts and prices are split, so that no product exceeds 2^53. */
const BASE = 1_000_000_000
const HALF = 32_768

/**
 * The value of an amount of coin in units, rounded down; at most MAX_UNITS.
 * @param coinNanos a safe integer, not negative
 * @param coinUsdUnits units of US dollar in one coin, within the bounds above
 */
export function valueOfCoin(coinNanos: number, coinUsdUnits: number): number {
  if (coinUsdUnits === UNITS_PER_USD) return coinNanos
  const n0 = coinNanos % BASE
  const p0 = coinUsdUnits % BASE
  const whole = ((coinNanos - n0) / BASE) * coinUsdUnits
  const high = ((n0 - (n0 % HALF)) / HALF) * p0
  const rest = (high % BASE) * HALF + (n0 % HALF) * p0
  const parts = n0 * ((coinUsdUnits - p0) / BASE) + Math.floor(high / BASE) * HALF + Math.floor(rest / BASE)
  return Math.min(whole + parts, MAX_UNITS)
}

/**
 * The least coin that is worth an amount.
 * @param units a safe integer, not negative
 * @param coinUsdUnits as of `valueOfCoin`
 * @throws RangeError where that is more coin than an account can hold
 */
export function coinFor(units: number, coinUsdUnits: number): number {
  if (coinUsdUnits === UNITS_PER_USD) return units
  // A division of doubles is a few nanos off at most.
  let nanos = Math.min(Math.floor((units / coinUsdUnits) * NANOS_PER_COIN), MAX_UNITS)
  while (nanos > 0 && valueOfCoin(nanos - 1, coinUsdUnits) >= units) nanos--
  while (valueOfCoin(nanos, coinUsdUnits) < units) {
    if (nanos >= MAX_UNITS) throw new RangeError(`no coin that an account can hold is worth ${units} units`)
    nanos++
  }
  return nanos
}

/**
 * The coin that an amount buys, rounded down, so that nothing is credited that was not paid.
 * @param units a safe integer, not negative
 * @throws RangeError where that is more coin than an account can hold
 */
export function coinBoughtFor(units: number, coinUsdUnits: number): number {
  const nanos = coinFor(units, coinUsdUnits)
  return coinUsdUnits === UNITS_PER_USD || isWorth(nanos, coinUsdUnits, units) ? nanos : nanos - 1
}

/**
 * The coin that an amount of any size buys, in nanos, rounded down: of sums that no single account has to hold.
 * @param units not negative
 * @param coinUsdUnits as of `valueOfCoin`
 */
export function nanosBoughtFor(units: bigint, coinUsdUnits: number): bigint {
  return (units * BigInt(NANOS_PER_COIN)) / BigInt(coinUsdUnits)
}

function isWorth(nanos: number, coinUsdUnits: number, units: number): boolean {
  return BigInt(nanos) * BigInt(coinUsdUnits) === BigInt(units) * BigInt(NANOS_PER_COIN)
}

/** Coin as a decimal string without trailing zeros. @param coinNanos a safe integer, may be negative */
export function coinDecimal(coinNanos: number): string {
  return formatUsd(coinNanos)
}

/** As `valueOfCoin`, for sums of all accounts, which may be beyond what one account can hold. Rounded down. */
export function valueOfCoinWide(coinNanos: bigint, coinUsdUnits: number): bigint {
  return (coinNanos * BigInt(coinUsdUnits)) / BigInt(NANOS_PER_COIN)
}
