import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import type { PriceJson } from '../pricing/price.ts'
import type { Sheet } from '../pricing/sheet.ts'
import { sha256Hex } from '../signing/statements.ts'
import { type ExactUsd, exactText, parseExact } from './exactDecimal.ts'
import type { ListedModel, ObservedPrice } from './priceList.ts'

/** The models that are sold, by provider and the provider's own name of a model. */
export interface SoldModels {
  readonly sheetVersion: number
  /** One model of a provider may be sold under several names. */
  readonly routes: ReadonlyMap<string, readonly SoldModel[]>
}

interface SoldModel {
  readonly id: string
  readonly price: PriceJson
}

/** A price of a list compared with the price that is sold. JSON texts have the keys of the price sheet. */
export interface Comparison {
  readonly upstreamModel: string
  /** '' for a model that is not sold. */
  readonly model: string
  readonly price: string
  /** The price sold, and its difference to the list, by the keys of `price`; undefined for a model that is not sold. */
  readonly sold: string | undefined
  readonly difference: string | undefined
  /** The keys whose price in the list is above the one sold. */
  readonly above: readonly string[]
  readonly sheetVersion: number | undefined
  readonly fingerprint: string
}

const routeKey = (provider: string, model: string): string => `${provider}\n${model}`

/** The models that the record in force sells. */
export function soldModels(encoded: Uint8Array): SoldModels {
  const record = sluice.CatalogRecord.decode(encoded)
  const sheet = JSON.parse(Buffer.from(record.sheetJson ?? []).toString('utf8')) as Sheet
  const routes = new Map<string, SoldModel[]>()
  for (const [place, model] of (record.models ?? []).entries()) {
    const listed = sheet.models[place]
    if (listed === undefined) continue
    const names = new Set((model.routes ?? []).map((route) => routeKey(route.provider ?? '', route.model ?? '')))
    for (const name of names) routes.set(name, [...(routes.get(name) ?? []), { id: listed.id, price: listed.price }])
  }
  return { sheetVersion: record.version ?? 0, routes }
}

/** A model of a provider's list with every model of the catalog that it is sold as. */
export function compare(provider: string, { id, price }: ListedModel, sold: SoldModels): Comparison[] {
  const models = sold.routes.get(routeKey(provider, id)) ?? []
  if (models.length === 0) return [comparison(id, price, undefined, undefined)]
  return models.map((model) => comparison(id, price, model, sold.sheetVersion))
}

function comparison(
  upstreamModel: string,
  price: ObservedPrice,
  model: SoldModel | undefined,
  sheetVersion: number | undefined,
): Comparison {
  const pairs = [...price].flatMap(([key, listed]) => {
    const amount = model && soldAmount(model.price, key)
    return amount === undefined ? [] : [{ key, listed, amount }]
  })
  const sold = model && json(pairs.map(({ key, amount }) => [key, amount]))
  const difference = model && json(pairs.map(({ key, amount, listed }) => [key, amount - listed]))
  const above = pairs.filter(({ amount, listed }) => listed > amount).map(({ key }) => key)
  const known = { upstreamModel, model: model?.id ?? '', price: json([...price]), sold, difference }
  const fingerprint = sha256Hex(canonicalJson({ price: known.price, sold }))
  return { ...known, above, sheetVersion, fingerprint }
}

function json(amounts: ReadonlyArray<readonly [string, ExactUsd]>): string {
  return JSON.stringify(Object.fromEntries(amounts.map(([key, amount]) => [key, exactText(amount)])))
}

/** The price of a key by the sheet; tokens of a class without its own price cost as much as input. */
function soldAmount(price: PriceJson, key: string): ExactUsd | undefined {
  const followsInput = key === 'cached_input' || key.startsWith('cache_write_')
  const stated = price[key] ?? (followsInput ? price['input'] : undefined)
  return typeof stated === 'string' ? parseExact(stated, 0) : undefined
}
