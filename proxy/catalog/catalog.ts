import {
  batchRates,
  COUNTED_BY,
  type Endpoint,
  type Modality,
  modelRates,
  type Thinking,
} from '../../contract/catalog/catalog.ts'
import { DIALECT } from '../../contract/catalog/dialects.ts'
import type { FallbackReason } from '../../contract/catalog/fallback.ts'
import type { Quota } from '../../contract/catalog/quota.ts'
import type { RouteOrderRule } from '../../contract/catalog/routeOrder.ts'
import { type VideoSettings, videoSettings } from '../../contract/catalog/video.ts'
import type { ModelRates } from '../../contract/money/charge.ts'
import { type UnitRates, unitRates } from '../../contract/money/unitRates.ts'
import { freshReads, type ReachReads } from '../../contract/providers/reach.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { quotaOf } from '../quotas/customerPots.ts'
import type { Canary } from './canary.ts'
import { type LockSeries, NO_SERIES, seriesByModel } from './lockSeries.ts'
import type { Provider, Route, Sheet } from './pricedItem.ts'
import { decodeProvider } from './provider.ts'
import { byPriority, decodeRoute, leaveChoice } from './route.ts'
import { decodeTool, type Tool } from './tool.ts'

/** Those of a model's routes that can be asked, in the order they are tried. */
export interface RouteOrder {
  readonly all: readonly Route[]
  /** Routes whose provider does not retain data. */
  readonly traceless: readonly Route[]
}

/** A model that may serve in place of another. */
export interface ModelFallback {
  readonly modelId: string
  readonly on: ReadonlySet<FallbackReason>
}

export interface Model {
  readonly id: string
  readonly name: string
  readonly ownedBy: string
  readonly modality: Modality
  readonly endpoints: ReadonlySet<Endpoint>
  readonly context: number
  readonly maxOutput: number
  readonly defaultOutput: number
  readonly imageTokens: number
  /** The most tokens that the PDFs of a request take; 0 where the model takes none. */
  readonly pdfTokens: number
  /** The most tokens that a provider's own prompt for tools takes; 0 if none has one. */
  readonly toolTokens: number
  readonly thinking: Thinking
  /** The limits of each account on it; absent for none. */
  readonly quota?: Quota | undefined
  /** Whether one-hour cache writes have a price. */
  readonly pricesHour: boolean
  readonly rates: ModelRates
  readonly ratesPrivate: ModelRates | null
  /** Prices of counted units, for models that are not priced by the token. */
  readonly unitRates: UnitRates | null
  readonly unitRatesPrivate: UnitRates | null
  /** The counted unit: image, character, second, search; '' for tokens. */
  readonly unit: string
  readonly routes: readonly Route[]
  /** The models that may serve in place of it, where a request names none itself. */
  readonly fallbacks: readonly ModelFallback[]
  /** Those that are enabled. */
  readonly enabledRoutes: readonly Route[]
  /** The same for routing: in the order of the catalog, and with the cheapest first. */
  readonly usualOrder: RouteOrder
  readonly cheapestOrder: RouteOrder
  /** Which key or route serves is chosen for each conversation; else by the orders above alone. */
  readonly leavesChoice: boolean
  /** The order of the routes of one priority. */
  readonly order: RouteOrderRule
  /** Registered providers that serve a share of the requests. */
  readonly canaries: readonly Canary[]
  /** The rates of batch jobs; null if the model has no batch rates. */
  readonly ratesBatch: sluice.Rates.$Properties | null
  readonly attested: boolean
  /** The model has not yet returned a verified result. */
  readonly unverified: boolean
  readonly createdAtMs: number
  /** The inputs of a video model; null for others. */
  readonly video: VideoSettings | null
  /** Series of compute locks, the soonest to end first. */
  readonly lockSeries: readonly LockSeries[]
  readonly sheet: Sheet
}

export interface Catalog {
  readonly sheet: Sheet
  readonly models: ReadonlyMap<string, Model>
  readonly tools: ReadonlyMap<string, Tool>
  readonly providers: ReadonlyMap<string, Provider>
}

/**
 * Decodes the catalog in force.
 * @param environment where the keys of tools are, and those of providers that are not in files
 * @param reads reads the keys of providers and how they are reached; absent reads everything anew
 */
export function decodeCatalog(
  bytes: Uint8Array,
  environment: NodeJS.ProcessEnv,
  reads: ReachReads = freshReads(environment),
): Catalog {
  const record = sluice.CatalogRecord.decode(bytes)
  const sheet: Sheet = {
    version: record.version,
    coinUsdUnits: record.coinUsdUnits,
    publishedAtMs: record.publishedAtMs,
    validUntilMs: record.validUntilMs,
    json: Buffer.from(record.sheetJson),
  }
  const providers = new Map<string, Provider>()
  for (const provider of record.providers) {
    const decoded = decodeProvider(sluice.ProviderRecord.create(provider), reads)
    if (decoded !== undefined) providers.set(decoded.id, decoded)
  }
  const models = new Map<string, Model>()
  const series = seriesByModel(record.lockSeries)
  for (const model of record.models) {
    const decoded = decodeModel(sluice.ModelRecord.create(model), providers, series, sheet)
    models.set(decoded.id, decoded)
  }
  const tools = record.tools.map((tool) => decodeTool(tool, sheet, environment, reads))
  return { sheet, models, providers, tools: new Map(tools.map((tool) => [tool.id, tool])) }
}

function decodeModel(
  record: sluice.ModelRecord,
  providers: ReadonlyMap<string, Provider>,
  series: ReadonlyMap<string, readonly LockSeries[]>,
  sheet: Sheet,
): Model {
  const order = record.order === '' ? 'weight' : (record.order as RouteOrderRule)
  const routes = record.routes.flatMap((route) => decodeRoute(sluice.RouteRecord.create(route), providers, order))
  const enabledRoutes = routes.filter((route) => route.enabled)
  const rates = modelRates(record.rates ?? {})
  return {
    id: record.id,
    name: record.name,
    ownedBy: record.ownedBy,
    modality: record.modality as Modality,
    endpoints: new Set(record.endpoints as Endpoint[]),
    context: record.context,
    maxOutput: record.maxOutput,
    defaultOutput: record.defaultOutput,
    imageTokens: record.imageTokens,
    pdfTokens: record.pdfTokens,
    toolTokens: Math.max(0, ...routes.map(({ provider }) => DIALECT[provider.dialect].toolPromptTokens)),
    quota: quotaOf(record.quota),
    thinking: record.thinking === '' ? 'none' : (record.thinking as Thinking),
    pricesHour: pricesHour(record.rates) && pricesHour(record.ratesPrivate),
    rates,
    ratesPrivate: record.ratesPrivate ? modelRates(record.ratesPrivate) : null,
    unitRates: unitRates(record.unitRates),
    unitRatesPrivate: unitRates(record.unitRatesPrivate),
    unit: COUNTED_BY[record.modality as Modality],
    routes,
    fallbacks: record.fallbacks.map(decodeFallback),
    enabledRoutes,
    usualOrder: orderOf(byPriority(enabledRoutes)),
    cheapestOrder: orderOf(cheapestFirst(enabledRoutes)),
    leavesChoice: leaveChoice(enabledRoutes),
    order,
    canaries: [],
    ratesBatch: record.ratesBatch ? batchRates(record.ratesBatch, rates) : null,
    attested: record.attested,
    unverified: record.unverified,
    createdAtMs: record.createdAtMs,
    video: videoSettings(record.video),
    lockSeries: series.get(record.id) ?? NO_SERIES,
    sheet,
  }
}

function decodeFallback({ model, on }: sluice.FallbackRecord.$Properties): ModelFallback {
  return { modelId: model ?? '', on: new Set(on as FallbackReason[]) }
}

/** A catalog with the registered providers that serve its models; those of a model that runs on attested hardware do not. */
export function withCanaries(catalog: Catalog, canaries: ReadonlyMap<string, readonly Canary[]>): Catalog {
  const models = [...catalog.models.values()].map((model): [string, Model] => {
    const found = model.attested ? undefined : canaries.get(model.id)
    return [model.id, found === undefined ? model : { ...model, canaries: found }]
  })
  return { ...catalog, models: new Map(models) }
}

/** Whether every set of rates has a price for cache writes of an hour. */
function pricesHour(rates: sluice.Rates.$Properties | null | undefined): boolean {
  if (rates === null || rates === undefined) return true
  return (rates.cacheWrite_1h ?? null) !== null && pricesHour(rates.long)
}

function orderOf(routes: readonly Route[]): RouteOrder {
  return { all: routes, traceless: routes.filter((route) => route.provider.dataPolicy === 'none') }
}

/** Routes by the price of their providers; those without a stated price are last, in their order. */
function cheapestFirst(routes: readonly Route[]): readonly Route[] {
  const cost = (route: Route): number => route.costUnits ?? Number.POSITIVE_INFINITY
  return [...routes].sort((a, b) => (cost(a) === cost(b) ? 0 : cost(a) - cost(b)))
}

/** The ids of the routes that the operator has disabled by hand. */
export function disabledRoutes(models: ReadonlyMap<string, Model>): ReadonlySet<string> {
  const routes = [...models.values()].flatMap((model) => model.routes)
  return new Set(routes.filter((route) => route.switchedOff).map((route) => route.id))
}
