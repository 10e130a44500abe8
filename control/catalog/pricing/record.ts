import { COUNTED_BY, type Modality } from '../../../contract/catalog/catalog.ts'
import type { VideoSettings } from '../../../contract/catalog/video.ts'
import type { StatedRates } from '../../../contract/money/charge.ts'
import { type Fields, nothingLeft } from '../../../contract/wire/fields.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { policyText } from '../../evidence/attestationPolicy.ts'
import type { Catalog, CatalogProvider } from './catalogFile.ts'
import type { CatalogModel, CatalogRoute } from './modelReader.ts'
import { type Price, statedRates, UNIT_OF } from './price.ts'
import { type RouteSwitch, switchOf } from './routeSwitches.ts'
import { type StandingReports, standingReport } from './standingReports.ts'
import type { ToolPrice } from './toolPrice.ts'
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

function providerRecord(
  provider: CatalogProvider,
  reports: StandingReports,
): Fields<sluice.ProviderRecord.$Properties> {
  const { id, baseUrl, dialect, apiKeyEnv, dataPolicy, maxTokensField, batch, privateImages, ...form } = provider
  const { refusesStreamOptions, thinkingMember, systemFirst, extraMembers, omitMembers, ...proof } = form
  const { attestation: policy, outputFromTotal, eventStreams, ...left } = proof
  nothingLeft(left)
  const attestation = policy && policyText(policy)
  return {
    id,
    baseUrl,
    dialect,
    apiKeyEnv,
    dataPolicy,
    maxTokensField,
    batch,
    privateImages,
    refusesStreamOptions,
    outputFromTotal,
    eventStreams: [...eventStreams],
    thinkingMember,
    systemFirst,
    extraMembers: [...extraMembers],
    omitMembers: [...omitMembers],
    attestation,
    report: attestation === undefined ? undefined : standingReport(reports, id, attestation),
  }
}

function modelRecord(
  model: CatalogModel,
  createdAtMs: number,
  switches: readonly RouteSwitch[],
): Fields<sluice.ModelRecord.$Properties> {
  const { id, name, ownedBy, modality, endpoints, context, maxOutput, defaultOutput, imageTokens, ...rest } = model
  const { pdfTokens, thinking, attested, verified, price, pricePrivate, routes, video, ...left } = rest
  nothingLeft(left)
  return {
    id,
    name,
    ownedBy,
    modality,
    endpoints: [...endpoints],
    context,
    maxOutput,
    defaultOutput,
    imageTokens,
    pdfTokens,
    thinking,
    rates: ratesRecord(price, ''),
    ratesPrivate: pricePrivate && ratesRecord(pricePrivate, ''),
    ratesBatch: ratesRecord(price, 'batch_'),
    unitRates: unitRatesRecord(price, modality),
    unitRatesPrivate: pricePrivate && unitRatesRecord(pricePrivate, modality),
    routes: routes.map((route) => routeRecord(route, switchOf(switches, route) !== undefined)),
    attested,
    unverified: !verified,
    createdAtMs,
    video: video && videoRecord(video),
  }
}

function routeRecord(route: CatalogRoute, isOff: boolean): Fields<sluice.RouteRecord.$Properties> {
  const { provider, model, enabled, costUnits, ...left } = route
  nothingLeft(left)
  return { provider, model, enabled, switchedOff: isOff || undefined, costUnits }
}

function toolRecord(tool: CatalogTool): Fields<sluice.ToolRecord.$Properties> {
  const { id, name, description, enabled, retained, price, cost, inputSchema, limit, resultsMax, ...rest } = tool
  const { publicUrl, baseUrl, path, method, apiKeyEnv, keyHeader, request, results, result, output, ...last } = rest
  const { billed, finalUrl, ...left } = last
  nothingLeft(left)
  return {
    id,
    name,
    description,
    enabled,
    price: toolRatesRecord(price),
    cost: toolRatesRecord(cost),
    inputSchema: JSON.stringify(inputSchema),
    retained,
    baseUrl,
    path,
    method,
    apiKeyEnv,
    keyHeader,
    request: JSON.stringify(request),
    results,
    result: { ...result },
    output: { ...output },
    billed,
    finalUrl,
    limit,
    resultsMax,
    publicUrl,
  }
}

function toolRatesRecord(price: ToolPrice): Fields<sluice.ToolRates.$Properties> {
  const { callUnits, resultUnits, perResult, ...left } = price
  nothingLeft(left)
  return { callUnits, resultUnits, perResult }
}

function videoRecord(settings: VideoSettings): Fields<sluice.VideoSettings.$Properties> {
  const { seconds, image, aspectRatios, sizes, resolution, negativePromptMax, promptMax, ...left } = settings
  nothingLeft(left)
  return {
    seconds: [...seconds],
    image,
    aspectRatios: [...aspectRatios],
    sizes: Object.fromEntries(sizes),
    resolution,
    negativePromptMax,
    promptMax,
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

function ratesOf(stated: StatedRates): Omit<Fields<sluice.Rates.$Properties>, 'long' | 'longThreshold'> {
  return {
    input: stated.input,
    output: stated.output,
    cachedInput: stated.cachedInput,
    cacheWrite_5m: stated.cacheWrite5m,
    cacheWrite_1h: stated.cacheWrite1h,
  }
}
