/** The charge of a request that burns tokens of a lock first. */
export interface LockCharge {
  /** Burnt, in units at the locked price. */
  readonly lockUnits: number
  /** Of the charge at the price sheet, in units. */
  readonly sheetUnits: number
}

/**
 * Rounds an amount at the locked price up to whole micro-tokens.
 * @param units safe integer, not negative
 * @param microUnits units of one micro-token
 * @returns units; the largest whole number of micro-tokens that is exact where it would exceed that
 */
export function wholeMicros(units: number, microUnits: number): number {
  const rest = units % microUnits
  if (rest === 0) return units
  const up = units - rest + microUnits
  return Number.isSafeInteger(up) ? up : units - rest
}

/**
 * The rest of an amount at the price sheet after a lock has paid for a part of the same request, rounded up.
 * @param sheetUnits of the whole request at the price sheet
 * @param lockUnits of the whole request at the prices of the series
 * @param paidUnits of `lockUnits` that the lock has paid, at most all
 */
export function sheetRest(sheetUnits: number, lockUnits: number, paidUnits: number): number {
  if (paidUnits >= lockUnits) return 0
  if (paidUnits === 0) return sheetUnits
  const whole = BigInt(lockUnits)
  return Number((BigInt(sheetUnits) * BigInt(lockUnits - paidUnits) + whole - 1n) / whole)
}

/**
 * Splits a charge between a lock and the price sheet: tokens first, the rest of the request at the sheet.
 * @param sheetUnits the charge at the price sheet
 * @param lockUnits the charge at the prices of the series, in whole micro-tokens
 * @param heldUnits the hold on the lock, in whole micro-tokens
 */
export function lockCharge(sheetUnits: number, lockUnits: number, heldUnits: number): LockCharge {
  const burnt = Math.min(lockUnits, heldUnits)
  return { lockUnits: burnt, sheetUnits: sheetRest(sheetUnits, lockUnits, burnt) }
}
