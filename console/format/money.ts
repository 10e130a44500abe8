const PLACES = 9
const LEAST_PLACES = 2
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/
const GROUPS = /\B(?=(\d{3})+$)/g

/** Integers of 1e-9 USD from the text of one, as `units` of an amount. */
export function unitsOf(text: string): bigint {
  return BigInt(text)
}

/** Units as a decimal string of USD, without rounding. */
export function usdOf(units: bigint): string {
  const sign = units < 0n ? '-' : ''
  const digits = String(units < 0n ? -units : units).padStart(PLACES + 1, '0')
  const fraction = digits.slice(-PLACES).replace(/0+$/, '')
  return sign + digits.slice(0, -PLACES) + (fraction === '' ? '' : `.${fraction}`)
}

/** A whole number with thin groups of three digits, such as 1,234,567. */
export function grouped(value: number | bigint | string): string {
  return String(value).replace(/^(-?)(\d+)/, (_, sign: string, whole: string) => sign + whole.replace(GROUPS, ','))
}

/**
 * A decimal string as it is shown: grouped, with at least two digits after the point and all that are not zero.
 * Text that is no decimal is shown as it is.
 */
export function shownDecimal(text: string, leastPlaces: number = LEAST_PLACES): string {
  const match = DECIMAL.exec(text)
  if (match === null) return text
  const [, sign = '', whole = '0', all = ''] = match
  const fraction = all.replace(/0+$/, '').padEnd(leastPlaces, '0')
  return sign + grouped(whole) + (fraction === '' ? '' : `.${fraction}`)
}

/** An amount of USD such as $1,234.50; nothing is rounded. */
export function shownUsd(text: string): string {
  const shown = shownDecimal(text)
  return shown.startsWith('-') ? `-$${shown.slice(1)}` : `$${shown}`
}

/** The same from units. */
export function shownUnits(units: bigint): string {
  return shownUsd(usdOf(units))
}

/** The sum of texts of units. */
export function sumUnits(texts: readonly string[]): bigint {
  return texts.reduce((sum, text) => sum + unitsOf(text), 0n)
}

/**
 * A share of a whole in parts of a thousand, rounded down, for the length of a bar.
 * @returns 0 where the whole is not above 0
 */
export function permille(part: bigint, whole: bigint): number {
  if (whole <= 0n || part <= 0n) return 0
  return part >= whole ? 1_000 : Number((part * 1_000n) / whole)
}
