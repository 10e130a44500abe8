import type { Modality } from '../../../contract/catalog/catalog.ts'
import { type RateSet, resolveBatchRates, resolveRateSet, type StatedRates } from '../../../contract/money/charge.ts'
import { formatUsd, parseUsd } from '../../../contract/money/units.ts'

export const TOKEN_KEYS = ['input', 'output', 'cached_input', 'cache_write_5m', 'cache_write_1h'] as const
const BATCH_KEYS = TOKEN_KEYS.map((key) => `batch_${key}` as const)

/** The keys of prices, in the order of the price sheet. */
export const AMOUNT_KEYS = [...TOKEN_KEYS, ...BATCH_KEYS, 'image', 'character', 'second', 'search'] as const
export type AmountKey = (typeof AMOUNT_KEYS)[number]

/** The classes of tokens: the key of their price, and their rate. */
export const TOKEN_CLASSES: ReadonlyArray<[key: (typeof TOKEN_KEYS)[number], rate: keyof RateSet]> = [
  ['input', 'input'],
  ['output', 'output'],
  ['cached_input', 'cachedInput'],
  ['cache_write_5m', 'cacheWrite5m'],
  ['cache_write_1h', 'cacheWrite1h'],
]

/** The unit of a price of each modality, as the sheet's `unit` names it. */
export const UNIT_OF: Readonly<Record<Modality, string>> = {
  chat: 'million_tokens',
  embedding: 'million_tokens',
  image: 'image',
  speech: 'million_characters',
  transcription: 'second',
  rerank: 'search',
  video: 'second',
}

/** The prices of a model as the catalog states them: key to units (per million where the unit says so). */
export interface Price {
  readonly amounts: ReadonlyMap<string, number>
  readonly longContext?: { readonly threshold: number; readonly amounts: ReadonlyMap<string, number> }
  readonly sizes?: ReadonlyMap<string, number>
}

/** A price in JSON, as the sheet has it: decimal strings of USD. */
export interface PriceJson {
  [key: string]: string | { threshold: number; [key: string]: string | number } | Record<string, string>
}

/** The token rates as stated, or undefined when there is no input price. @param prefix '' or 'batch_' */
export function statedRates(amounts: ReadonlyMap<string, number>, prefix: '' | 'batch_'): StatedRates | undefined {
  const input = amounts.get(`${prefix}input`)
  if (input === undefined) return undefined
  return {
    input,
    output: amounts.get(`${prefix}output`) ?? 0,
    cachedInput: amounts.get(`${prefix}cached_input`),
    cacheWrite5m: amounts.get(`${prefix}cache_write_5m`),
    cacheWrite1h: amounts.get(`${prefix}cache_write_1h`),
  }
}

/** The rates that hold for a prompt of `promptTokens`, fallbacks resolved; undefined where none are sold. */
export function effectiveRates(price: Price, prefix: '' | 'batch_', promptTokens: number): RateSet | undefined {
  const base = statedRates(price.amounts, prefix)
  if (base === undefined) return undefined
  const isLong = price.longContext !== undefined && promptTokens > price.longContext.threshold
  const long = isLong && price.longContext ? statedRates(price.longContext.amounts, prefix) : undefined
  if (prefix === '') return resolveRateSet(long ?? base)
  const standard = effectiveRates(price, '', promptTokens)
  return standard && resolveBatchRates(long ?? base, standard)
}

function amountsJson(amounts: ReadonlyMap<string, number>): Record<string, string> {
  return Object.fromEntries([...amounts].map(([key, units]) => [key, formatUsd(units)]))
}

/** A price as the public sheet has it. */
export function priceJson(price: Price): PriceJson {
  return {
    ...amountsJson(price.amounts),
    ...(price.sizes && { sizes: amountsJson(price.sizes) }),
    ...(price.longContext && {
      long_context: { threshold: price.longContext.threshold, ...amountsJson(price.longContext.amounts) },
    }),
  }
}

/**
 * Reads a price back out of a published sheet.
 * @throws Error when the text is not a price of ours
 */
export function priceFromJson(json: PriceJson): Price {
  const { sizes, long_context: long, ...flat } = json
  const price: { -readonly [K in keyof Price]: Price[K] } = { amounts: amountsOf(flat) }
  if (typeof sizes === 'object') price.sizes = amountsOf(sizes)
  if (typeof long === 'object') {
    const { threshold, ...rest } = long
    price.longContext = { threshold: Number(threshold), amounts: amountsOf(rest) }
  }
  return price
}

function amountsOf(json: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>()
  for (const [key, usd] of Object.entries(json)) {
    const units = typeof usd === 'string' ? parseUsd(usd) : undefined
    if (units === undefined) throw new Error(`a published price sheet holds a price that is not one: ${key} ${usd}`)
    amounts.set(key, units)
  }
  return amounts
}
