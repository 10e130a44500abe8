import { MAX_UNITS } from '../money/units.ts'
import type { sluice } from '../wire/generated/messages.js'

/** The price of a call: a base and an amount for each result, in units. A flat price has no amount for results. */
export interface ToolRates {
  readonly callUnits: number
  readonly resultUnits: number
}

/** How much above its cost a tool may be sold, in percent. */
export const TOOL_MARGIN_PERCENT_MAX = 5

export function toolRates(record: sluice.ToolRates.$Properties | null | undefined): ToolRates {
  return { callUnits: record?.callUnits ?? 0, resultUnits: record?.resultUnits ?? 0 }
}

/**
 * The price of a call with a number of results.
 * @param results a safe integer, not negative
 * @returns units, exact; MAX_UNITS when the charge would exceed what any hold can cover
 */
export function toolUnits({ callUnits, resultUnits }: ToolRates, results: number): number {
  const units = BigInt(callUnits) + BigInt(resultUnits) * BigInt(results)
  return units > BigInt(MAX_UNITS) ? MAX_UNITS : Number(units)
}

/** Whether a price is at most the margin above its cost, both in units. */
export function isWithinMargin(priceUnits: number, costUnits: number): boolean {
  return BigInt(priceUnits) * 100n <= BigInt(costUnits) * BigInt(100 + TOOL_MARGIN_PERCENT_MAX)
}
