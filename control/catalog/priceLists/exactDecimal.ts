/** Decimal places of a stored price; a listed price with more is invalid. */
const PLACES = 30
const DECIMAL = /^(\d{1,12})(?:\.(\d{1,30}))?(?:[eE]([+-]?\d{1,2}))?$/
/** Decimal digits that a double always preserves; IEEE 754. */
const DOUBLE_DIGITS = 15

/** An amount in USD times 10^30, exact. */
export type ExactUsd = bigint

/**
 * Reads a decimal, in JSON a string or a number, without rounding.
 * @param shift the power of ten that it is multiplied by
 * @returns undefined for a value that is negative, not a decimal, or too long to be kept exactly
 */
export function parseExact(value: unknown, shift: number): ExactUsd | undefined {
  const text = typeof value === 'number' ? numberText(value) : value
  const [, whole = '', fraction = '', exponent = '0'] = (typeof text === 'string' && DECIMAL.exec(text)) || []
  if (whole === '') return undefined
  const digits = BigInt(whole + fraction)
  const power = PLACES - fraction.length + Number(exponent) + shift
  if (power >= 0) return digits * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return digits % divisor === 0n ? digits / divisor : undefined
}

/** The shortest text that parses to this number: the decimal that was written, if that had at most DOUBLE_DIGITS digits. */
function numberText(value: number): string | undefined {
  const text = String(value)
  const digits = text
    .replace(/[eE].*$/, '')
    .replace('.', '')
    .replace(/^0+/, '')
  return digits.length <= DOUBLE_DIGITS ? text : undefined
}

/** An amount as a decimal string of USD. */
export function exactText(amount: ExactUsd): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(PLACES + 1, '0')
  const fraction = digits.slice(-PLACES).replace(/0+$/, '')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -PLACES)}${fraction === '' ? '' : `.${fraction}`}`
}
