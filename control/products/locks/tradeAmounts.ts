import { MICROS_PER_TOKEN } from '../../../contract/money/lockTokens.ts'

/** Orders are for whole lots: thousandths of a whole token, in micro-tokens. */
export const LOT_MICROS = 1_000
/**
 * Prices are whole ticks: millionths of a coin per whole token, in nanos. A lot at any price is a whole number of nanos,
 * because a tick times a lot is MICROS_PER_TOKEN.
 */
export const TICK_NANOS = 1_000

const PPM = 1_000_000n

/**
 * The cost of tokens, exact.
 * @param priceNanos per whole token, a multiple of TICK_NANOS
 * @param micros a multiple of LOT_MICROS
 * @returns nanos of coin
 * @throws RangeError where that is more than an account can hold
 */
export function costOf(priceNanos: number, micros: number): number {
  const nanos = (priceNanos / TICK_NANOS) * (micros / LOT_MICROS)
  if (!Number.isSafeInteger(nanos)) throw new RangeError(`${micros} micro-tokens at ${priceNanos} cost too much`)
  return nanos
}

/** The taker's fee of a trade, rounded up. @returns nanos of coin */
export function feeOf(costNanos: number, feePpm: number): number {
  return Number((BigInt(costNanos) * BigInt(feePpm) + PPM - 1n) / PPM)
}

/** The value of tokens at the locked price. @param lockedPriceUnits per whole token, a multiple of MICROS_PER_TOKEN */
export function unitsOfTokens(micros: number, lockedPriceUnits: number): number {
  const units = micros * (lockedPriceUnits / MICROS_PER_TOKEN)
  if (!Number.isSafeInteger(units)) throw new RangeError(`${micros} micro-tokens are too many`)
  return units
}

/** Micro-tokens of units at the locked price, which are a multiple of what one counts. */
export function tokensOfUnits(units: number, lockedPriceUnits: number): number {
  return units / (lockedPriceUnits / MICROS_PER_TOKEN)
}
