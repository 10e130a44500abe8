import { createHash } from 'node:crypto'
import { DAY_MS } from '../../../contract/api/time.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import type { Catalog } from './catalogFile.ts'
import type { CatalogModel } from './modelReader.ts'
import { type PriceJson, priceJson, UNIT_OF } from './price.ts'
import { type ToolPriceJson, toolPriceJson } from './toolPrice.ts'
import type { CatalogTool } from './toolReader.ts'

/** How long a published price may not rise (spec, "Price sheet"). */
const PROMISE_DAYS = 30

/** A model as a public sheet has it. Addresses of providers and names of variables stay out. */
export interface SheetModel {
  readonly id: string
  readonly name: string
  readonly owned_by: string
  readonly modality: string
  readonly unit: string
  readonly endpoints: readonly string[]
  readonly context: number | null
  readonly max_output: number | null
  readonly price: PriceJson
  readonly price_private?: PriceJson
  /** It runs on attested hardware. Absent from old sheets. */
  attested?: boolean
  readonly available: boolean
  rate_locked_until: string
  readonly routes: Array<{ provider: string; enabled: boolean; data_policy: string }>
}

/** A priced tool as a public sheet has it. */
export interface SheetTool {
  readonly id: string
  readonly name: string
  readonly price: ToolPriceJson
  readonly enabled: boolean
  rate_locked_until: string
}

/** GET /v1/pricing (spec, "Price sheet"). */
export interface Sheet {
  readonly version: string
  readonly unit: string
  /** `renews`: the promise moves on while the sheet is in force. Absent from old sheets, whose promise does, too. */
  readonly rate_lock: { days: number; valid_until: string; renews?: boolean }
  readonly coin: { usd: string }
  readonly models: SheetModel[]
  /** Absent from sheets without tools. */
  readonly tools?: SheetTool[]
}

/** When the promise of a sheet ends. Times are milliseconds since 1970. */
export function promiseEndMs(publishedAtMs: number): number {
  return publishedAtMs + PROMISE_DAYS * DAY_MS
}

/** The public sheet of a catalog. */
export function buildSheet(catalog: Catalog, version: number, validUntilMs: number): Sheet {
  const validUntil = new Date(validUntilMs).toISOString()
  const policies = new Map(catalog.providers.map((provider) => [provider.id, provider.dataPolicy]))
  return {
    version: String(version),
    unit: 'million_tokens',
    rate_lock: { days: PROMISE_DAYS, valid_until: validUntil, renews: catalog.renewsPromise },
    coin: { usd: formatUsd(catalog.coinUsdUnits) },
    models: catalog.models.map((model) => sheetModel(model, policies, validUntil)),
    ...(catalog.tools.length > 0 && { tools: catalog.tools.map((tool) => sheetTool(tool, validUntil)) }),
  }
}

function sheetTool({ id, name, price, enabled }: CatalogTool, validUntil: string): SheetTool {
  return { id, name, price: toolPriceJson(price), enabled, rate_locked_until: validUntil }
}

function sheetModel(model: CatalogModel, policies: ReadonlyMap<string, string>, validUntil: string): SheetModel {
  return {
    id: model.id,
    name: model.name,
    owned_by: model.ownedBy,
    modality: model.modality,
    unit: UNIT_OF[model.modality],
    endpoints: model.endpoints,
    context: model.context || null,
    max_output: model.maxOutput || null,
    price: priceJson(model.price),
    ...(model.pricePrivate && { price_private: priceJson(model.pricePrivate) }),
    attested: model.attested,
    available: model.verified && model.routes.some((route) => route.enabled),
    rate_locked_until: validUntil,
    routes: model.routes.map((route) => ({
      provider: route.provider,
      enabled: route.enabled,
      data_policy: policies.get(route.provider) ?? 'retained',
    })),
  }
}

/** The text of a published sheet with the end that its promise has now. */
export function withPromiseEnd(text: string, validUntilMs: number): string {
  const sheet = JSON.parse(text) as Sheet
  const validUntil = new Date(validUntilMs).toISOString()
  sheet.rate_lock.valid_until = validUntil
  for (const sold of [...sheet.models, ...(sheet.tools ?? [])]) sold.rate_locked_until = validUntil
  return JSON.stringify(sheet)
}

/** The hash of a sheet without its version and dates: two catalogs with one hash share a version. */
export function sheetContentHash(catalog: Catalog): string {
  return hashOf(buildSheet(catalog, 0, 0))
}

/** The same of the text of a published sheet. @throws Error for a text that is no sheet */
export function publishedContentHash(text: string): string {
  return hashOf({ ...(JSON.parse(withPromiseEnd(text, 0)) as Sheet), version: '0' })
}

function hashOf(sheet: Sheet): string {
  return createHash('sha256').update(JSON.stringify(sheet)).digest('hex')
}
