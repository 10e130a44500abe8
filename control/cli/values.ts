import { formatUsd, MAX_UNITS, parseUsd, UNITS_PER_USD } from '../contract/units.ts'
import type { Queryable } from '../db/pool.ts'
import { CoinPrices } from '../pricing/sheetReads.ts'
import { latestSheet } from '../pricing/sheetStore.ts'
import { UsageError } from './command.ts'
import { CommandError } from './context.ts'

/** Units of a decimal amount such as "1.5". @throws UsageError */
export function amountOf(flagName: string, text: string): number {
  const units = parseUsd(text)
  if (units !== undefined) return units
  if (/^\d+(\.\d{1,9})?$/.test(text) && Number(text) * UNITS_PER_USD > MAX_UNITS) {
    throw new UsageError(`--${flagName} ${text} is too large; the most is ${formatUsd(MAX_UNITS)}`)
  }
  throw new UsageError(`--${flagName} must be a decimal amount such as 1.5, not "${text}"`)
}

/** A time such as 2027-01-31T12:00:00Z, in milliseconds since 1970. @throws UsageError */
export function timeOf(flagName: string, text: string): number {
  const isRfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text)
  const ms = isRfc3339 ? Date.parse(text) : Number.NaN
  if (Number.isFinite(ms)) return ms
  throw new UsageError(`--${flagName} must be a time such as 2027-01-31T12:00:00Z, not "${text}"`)
}

export function formatTime(ms: number | null): string {
  return ms === null ? '' : new Date(ms).toISOString()
}

/** USD per coin in units, by the price sheet in force. @throws CommandError before the first sheet */
export async function coinUsdUnits(db: Queryable): Promise<number> {
  const sheet = await latestSheet(db)
  if (sheet === undefined)
    throw new CommandError('no price sheet is published yet, so a coin has no price: start control')
  return new CoinPrices(db).ofSheet(sheet.version)
}

/** Units that an amount of coin is worth. @param coinNanos coin times 1e9, as `amountOf` reads it */
export function coinToUnits(coinNanos: number, usdUnits: number): number {
  const units = (BigInt(coinNanos) * BigInt(usdUnits)) / BigInt(UNITS_PER_USD)
  if (units > BigInt(MAX_UNITS))
    throw new UsageError(`--coin is too large; an account holds at most ${formatUsd(MAX_UNITS)} USD`)
  return Number(units)
}

/** Coin that units are worth, as a decimal; rounded down so that a balance is never overstated. */
export function coinText(units: number, usdUnits: number): string {
  return decimalOf((BigInt(units) * BigInt(UNITS_PER_USD)) / BigInt(usdUnits))
}

/** The sum of amounts in units as a decimal of USD, exact also beyond what one amount can be. */
export function sumText(amounts: readonly number[]): string {
  return decimalOf(amounts.reduce((sum, units) => sum + BigInt(units), 0n))
}

/** @param nanos times 1e-9, not negative */
function decimalOf(nanos: bigint): string {
  const digits = nanos.toString().padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return digits.slice(0, -9) + (fraction === '' ? '' : `.${fraction}`)
}
