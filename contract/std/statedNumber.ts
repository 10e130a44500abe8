/** The number that a value is, or that a text states; NaN for what is neither, a blank text among them. */
export function statedNumber(value: unknown): number {
  if (typeof value === 'string' && value.trim() !== '') return Number(value)
  return typeof value === 'number' ? value : Number.NaN
}
