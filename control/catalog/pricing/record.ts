import { COUNTED_BY, type Modality } from '../../../contract/catalog/catalog.ts'
import type { VideoSettings } from '../../../contract/catalog/video.ts'
import type { StatedRates } from '../../../contract/money/charge.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { policyText } from '../../evidence/attestationPolicy.ts'
import type { Catalog, CatalogProvider } from './catalogFile.ts'
import type { CatalogModel } from './modelReader.ts'
import { type Price, statedRates, UNIT_OF } from './price.ts'
import { type RouteSwitch, switchOf } from './routeSwitches.ts'
import { type StandingReports, standingReport } from './standingReports.ts'
import type { CatalogTool } from './toolReader.ts'

/** The circumstances of a catalog's publication. Times are milliseconds since 1970. */
export interface Publication {
  readonly version: number
  readonly publishedAtMs: number
  readonly validUntilMs: number
  readonly sheetJson: string
  /** When each model was first on a sheet. */
  readonly listedAtMs: ReadonlyMap<string, number>
}

/**
 * The CatalogRecord that the proxies use, encoded. Equal catalogs give equal bytes.
 * @param switches the routes that the operator has disabled by hand
 * @param reports the valid reports on the hardware of providers
 * @param series the series of compute locks that have not ended
 */
export function encodeRecord(
  catalog: Catalog,
  publication: Publication,
  switches: readonly RouteSwitch[] = [],
  reports: StandingReports = new Map(),
  series: readonly sluice.LockSeriesRecord.$Properties[] = [],
): Buffer {
  const record: sluice.CatalogRecord.$Properties = {
    version: publication.version,
    publishedAtMs: publication.publishedAtMs,
    validUntilMs: publication.validUntilMs,
    coinUsdUnits: catalog.coinUsdUnits,
    promiseEnds: !catalog.renewsPromise,
    sheetJson: Buffer.from(publication.sheetJson),
    providers: catalog.providers.map((provider) => providerRecord(provider, reports)),
    models: catalog.models.map((model) => modelRecord(model, publication.listedAtMs.get(model.id) ?? 0, switches)),
    tools: catalog.tools.map(toolRecord),
    lockSeries: [...series],
  }
  return Buffer.from(sluice.CatalogRecord.encode(record).finish())
}

function providerRecord(provider: CatalogProvider, reports: StandingReports): sluice.ProviderRecord.$Properties {
  const { attestation: policy, ...named } = provider
  const rest = { ...named, extraMembers: [...named.extraMembers], omitMembers: [...named.omitMembers] }
  if (policy === undefined) return rest
  const attestation = policyText(policy)
  return { ...rest, attestation, report: standingReport(reports, provider.id, attestation) }
}

function modelRecord(
  model: CatalogModel,
  createdAtMs: number,
  switches: readonly RouteSwitch[],
): sluice.ModelRecord.$Properties {
  return {
    id: model.id,
    name: model.name,
    ownedBy: model.ownedBy,
    modality: model.modality,
    endpoints: [...model.endpoints],
    context: model.context,
    maxOutput: model.maxOutput,
    defaultOutput: model.defaultOutput,
    imageTokens: model.imageTokens,
    pdfTokens: model.pdfTokens,
    thinking: model.thinking,
    rates: ratesRecord(model.price, ''),
    ratesPrivate: model.pricePrivate && ratesRecord(model.pricePrivate, ''),
    ratesBatch: ratesRecord(model.price, 'batch_'),
    unitRates: unitRatesRecord(model.price, model.modality),
    unitRatesPrivate: model.pricePrivate && unitRatesRecord(model.pricePrivate, model.modality),
    routes: model.routes.map((route) => ({
      ...route,
      ...(switchOf(switches, route) && { switchedOff: true }),
    })),
    attested: model.attested,
    unverified: !model.verified,
    createdAtMs,
    video: model.video && videoRecord(model.video),
  }
}

function toolRecord(tool: CatalogTool): sluice.ToolRecord.$Properties {
  const { price, cost, inputSchema, request, ...rest } = tool
  return {
    ...rest,
    price: { ...price },
    cost: { ...cost },
    inputSchema: JSON.stringify(inputSchema),
    request: JSON.stringify(request),
    result: { ...tool.result },
    output: { ...tool.output },
  }
}

function videoRecord(settings: VideoSettings): sluice.VideoSettings.$Properties {
  const { seconds, aspectRatios, sizes } = settings
  return {
    ...settings,
    seconds: [...seconds],
    aspectRatios: [...aspectRatios],
    sizes: Object.fromEntries(sizes),
  }
}

/** Undefined for prices that are not per token. */
export function ratesRecord(price: Price, prefix: '' | 'batch_'): sluice.Rates.$Properties | undefined {
  const base = statedRates(price.amounts, prefix)
  if (base === undefined) return undefined
  const long = price.longContext && statedRates(price.longContext.amounts, prefix)
  if (price.longContext === undefined || long === undefined) return ratesOf(base)
  return { ...ratesOf(base), longThreshold: price.longContext.threshold, long: ratesOf(long) }
}

/** Undefined for prices that are per token. */
function unitRatesRecord(price: Price, modality: Modality): sluice.UnitRates.$Properties | undefined {
  const counted = COUNTED_BY[modality]
  if (counted === '') return undefined
  return {
    priceUnits: price.amounts.get(counted) ?? 0,
    per: UNIT_OF[modality].startsWith('million_') ? 1_000_000 : 1,
    sizes: Object.fromEntries(price.sizes ?? []),
  }
}

function ratesOf(stated: StatedRates): sluice.Rates.$Properties {
  return {
    input: stated.input,
    output: stated.output,
    cachedInput: stated.cachedInput,
    cacheWrite_5m: stated.cacheWrite5m,
    cacheWrite_1h: stated.cacheWrite1h,
  }
}
