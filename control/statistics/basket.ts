import type { RateSet } from '../../contract/money/charge.ts'
import type { SheetPrices } from './sheetHistory.ts'

/** The classes of tokens: their names in answers, and their rates. */
export const CLASSES = [
  ['input', 'input'],
  ['cached_input', 'cachedInput'],
  ['cache_write_5m', 'cacheWrite5m'],
  ['cache_write_1h', 'cacheWrite1h'],
  ['output', 'output'],
] as const satisfies ReadonlyArray<readonly [string, keyof RateSet]>
export type TokenClass = (typeof CLASSES)[number][0]

/** The tokens of one model in the basket, by class. */
export interface BasketItem {
  readonly model: string
  readonly tokens: Readonly<Record<TokenClass, number>>
}

/** The basket that the index is computed over. */
export interface Basket {
  /** The day whose prices are the base, since 1970 (UTC). */
  readonly baseDay: number
  readonly items: readonly BasketItem[]
}

/** The tokens of every model in the basket. */
const EQUAL_TOKENS = { input: 3_000_000, cached_input: 0, cache_write_5m: 0, cache_write_1h: 0, output: 1_000_000 }

/** The basket of the first sheet that has models priced by the token: the same tokens of each. */
export function basketOf({ day, rates }: SheetPrices, modelsMax: number): Basket {
  const models = [...rates.keys()].sort().slice(0, modelsMax)
  return { baseDay: day, items: models.map((model) => ({ model, tokens: EQUAL_TOKENS })) }
}

/** The cost of a model's tokens at some rates: units per million tokens times tokens, exact. */
export function costOf({ tokens }: BasketItem, rates: RateSet): bigint {
  return CLASSES.reduce((sum, [name, rate]) => sum + BigInt(tokens[name]) * BigInt(rates[rate]), 0n)
}
