/**
 * A quotient as a decimal string, rounded half up.
 * @param dividend not negative
 * @param divisor above zero
 * @param places digits after the point; trailing zeros are omitted
 */
export function quotient(dividend: bigint, divisor: bigint, places: number): string {
  const scale = 10n ** BigInt(places)
  const digits = ((2n * dividend * scale + divisor) / (2n * divisor)).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
