/** Units in one US dollar. */
export const UNITS_PER_USD = 1_000_000_000n
/** No charge is larger. */
export const MAX_UNITS: bigint = 2n ** 53n - 1n

/** Reads a decimal of US dollars into units; undefined for any other text. */
export function parseUsd(text: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(0|[1-9]\d{0,9})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  return whole === undefined ? undefined : BigInt(whole) * UNITS_PER_USD + BigInt(fraction.padEnd(9, '0'))
}

/** A product or sum divided once, rounded up. */
export function dividedUp(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by
}

/** Integers of 1e-9 as a decimal without zeros at its end. */
export function decimal(nanos: bigint): string {
  const digits = nanos.toString().padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return digits.slice(0, -9) + (fraction === '' ? '' : `.${fraction}`)
}

/** Units as coin, rounded up to nine digits. @param coinUsdUnits units of US dollar in one coin */
export function coinDecimal(units: bigint, coinUsdUnits: bigint): string {
  return decimal(dividedUp(units * UNITS_PER_USD, coinUsdUnits))
}
