import type { CatalogLimits } from '../limits.ts'
import { AMOUNT_KEYS, type AmountKey } from '../pricing/price.ts'
import { type ExactUsd, parseExact } from './exactDecimal.ts'

/** Prices in the units of the price sheet, by its keys. */
export type ObservedPrice = ReadonlyMap<AmountKey, ExactUsd>

/** A model as a list has it. */
export interface ListedModel {
  readonly id: string
  readonly price: ObservedPrice
}

/** Printable ASCII without spaces, as providers name their models. */
const MODEL_ID = /^[\x21-\x7e]{1,200}$/
/** Prices of one token make prices of a million. */
const PER_TOKEN_SHIFT = 6
/** The members of `pricing` that have a key of the sheet; https://openrouter.ai/docs/api-reference/list-available-models */
const PER_TOKEN: ReadonlyArray<[member: string, key: AmountKey]> = [
  ['prompt', 'input'],
  ['completion', 'output'],
  ['input_cache_read', 'cached_input'],
  ['input_cache_write', 'cache_write_5m'],
]

/**
 * Reads a list of models with prices: `pricing` in USD per token, as OpenRouter has it, or `price` in the keys and units of
 * the price sheet, as GET /v1/pricing has it. Entries without a price, and members that are not prices, are skipped.
 * @param prefix precedes the provider's own names in the list; entries without it belong to other providers
 * @returns undefined when the body is not a list of models; at most limits.observedModelsMax models
 */
export function readPriceList(body: Buffer, prefix: string, limits: CatalogLimits): ListedModel[] | undefined {
  const entries = entriesOf(body)
  if (entries === undefined) return undefined
  const models = new Map<string, ListedModel>()
  for (const entry of entries) {
    if (models.size === limits.observedModelsMax) break
    const { id: listed, pricing, price } = (entry ?? {}) as { id?: unknown; pricing?: unknown; price?: unknown }
    if (typeof listed !== 'string' || !listed.startsWith(prefix)) continue
    const id = listed.slice(prefix.length)
    if (!MODEL_ID.test(id) || models.has(id)) continue
    const read = price === undefined ? perToken(pricing) : perSheetUnit(price)
    if (read.size > 0) models.set(id, { id, price: read })
  }
  return [...models.values()]
}

function entriesOf(body: Buffer): unknown[] | undefined {
  try {
    const { data, models } = JSON.parse(body.toString('utf8')) as { data?: unknown; models?: unknown }
    const entries = data ?? models
    return Array.isArray(entries) ? entries : undefined
  } catch {
    return undefined
  }
}

function perToken(pricing: unknown): ObservedPrice {
  return priceOf(pricing, PER_TOKEN, PER_TOKEN_SHIFT)
}

function perSheetUnit(price: unknown): ObservedPrice {
  return priceOf(
    price,
    AMOUNT_KEYS.map((key) => [key, key]),
    0,
  )
}

function priceOf(members: unknown, keys: ReadonlyArray<readonly [string, AmountKey]>, shift: number): ObservedPrice {
  const price = new Map<AmountKey, ExactUsd>()
  if (typeof members !== 'object' || members === null) return price
  for (const [member, key] of keys) {
    const value = Object.hasOwn(members, member) ? (members as Record<string, unknown>)[member] : undefined
    const amount = parseExact(value, shift)
    if (amount !== undefined) price.set(key, amount)
  }
  return price
}
