import { parseUsd } from '../../../contract/money/units.ts'

/**
 * Units of an amount that a schema has checked to be one (the format `usd`).
 * @param usd a decimal string of US dollars
 * @throws RangeError for anything else
 */
export function statedUnits(usd: string): number {
  const units = parseUsd(usd)
  if (units === undefined) throw new RangeError('not an amount of USD')
  return units
}
