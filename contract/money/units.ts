/** Units in one US dollar: one unit is 1e-9 USD. */
export const UNITS_PER_USD = 1_000_000_000

/** The largest amount the gateway handles: exact as a JavaScript number and as a Lua number (9,007,199 USD). */
export const MAX_UNITS = Number.MAX_SAFE_INTEGER

const ZEROS = '000000000'
const DECIMAL = /^(0|[1-9][0-9]{0,9})(?:\.([0-9]{1,9}))?$/

/**
 * Parses a non-negative decimal string of US dollars into units, exactly.
 * @param usd for example "0.15"; at most nine digits on either side of the point
 * @returns units, or undefined when the text is not such a number or exceeds MAX_UNITS
 */
export function parseUsd(usd: string): number | undefined {
  const match = DECIMAL.exec(usd)
  if (match === null) return undefined
  const units = Number(match[1]) * UNITS_PER_USD + Number((match[2] ?? '').padEnd(9, '0'))
  return Number.isSafeInteger(units) ? units : undefined
}

/**
 * Formats units as a decimal string of US dollars without trailing zeros.
 * @param units a safe integer, may be negative
 */
export function formatUsd(units: number): string {
  if (!Number.isSafeInteger(units)) throw new RangeError(`not an exact amount of units: ${units}`)
  const amount = Math.abs(units)
  const fraction = amount % UNITS_PER_USD
  const whole = `${units < 0 ? '-' : ''}${(amount - fraction) / UNITS_PER_USD}`
  return fraction === 0 ? whole : `${whole}.${decimals(fraction)}`
}

/** As `formatUsd`, for sums of all accounts, which may be beyond what one account can hold. */
export function formatUsdWide(units: bigint): string {
  const whole = units / BigInt(UNITS_PER_USD)
  const fraction = Number(units % BigInt(UNITS_PER_USD))
  if (fraction === 0) return String(whole)
  const sign = units < 0n && whole === 0n ? '-' : ''
  return `${sign}${whole}.${decimals(Math.abs(fraction))}`
}

/** The nine digits of a fraction without the zeros at their end. @param fraction from 1 to UNITS_PER_USD - 1 */
function decimals(fraction: number): string {
  let rest = fraction
  let places = 9
  while (rest % 10 === 0) {
    rest /= 10
    places--
  }
  const digits = String(rest)
  return ZEROS.slice(digits.length, places) + digits
}

/**
 * Formats units as a decimal string of coin, rounded up to nine digits so that a cost is never understated.
 * @param units a safe integer, not negative
 * @param coinUsdUnits units of US dollar in one coin, positive
 */
export function formatCoin(units: number, coinUsdUnits: number): string {
  if (coinUsdUnits === UNITS_PER_USD) return formatUsd(units)
  const scaled = BigInt(units) * BigInt(UNITS_PER_USD)
  const price = BigInt(coinUsdUnits)
  const digits = ((scaled + price - 1n) / price).toString().padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return digits.slice(0, -9) + (fraction === '' ? '' : `.${fraction}`)
}
