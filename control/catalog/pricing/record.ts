import { COUNTED_BY, type Modality } from '../../../contract/catalog/catalog.ts'
import { isLimited } from '../../../contract/catalog/quota.ts'
import type { VideoSettings } from '../../../contract/catalog/video.ts'
import type { StatedRates } from '../../../contract/money/charge.ts'
import type { OwnPart } from '../../../contract/providers/ownParts.ts'
import { type ListedKey, SOLE_KEY } from '../../../contract/providers/providerKeys.ts'
import { type Fields, nothingLeft } from '../../../contract/wire/fields.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { policyText } from '../../evidence/attestationPolicy.ts'
import type { Catalog, CatalogProvider } from './catalogFile.ts'
import type { CatalogFallback, CatalogModel, CatalogRoute } from './modelReader.ts'
import { type Price, statedRates, UNIT_OF } from './price.ts'
import type { StatedProxy } from './reachReader.ts'
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
  const { id, baseUrl, dialect, keys, headers, query, dataPolicy, maxTokensField, batch, ...more } = provider
  const { proxy, caFile, certFile, keyFile, privateImages, traceContext, ...form } = more
  const { refusesStreamOptions, thinkingMember, systemFirst, developerAsSystem, extraMembers, ...proof } = form
  const { attestation: policy, callIdCharacters, omitMembers, outputFromTotal, eventStreams, ...few } = proof
  const { stopSequencesMax, ...left } = few
  nothingLeft(left)
  const attestation = policy && policyText(policy)
  return {
    id,
    baseUrl,
    dialect,
    ...keyRecords(keys),
    headers: headers.map(ownPartRecord),
    query: query.map(ownPartRecord),
    proxy: proxy && proxyRecord(proxy),
    caFile,
    certFile,
    keyFile,
    dataPolicy,
    maxTokensField,
    batch,
    privateImages,
    traceContext,
    refusesStreamOptions,
    outputFromTotal,
    eventStreams: [...eventStreams],
    thinkingMember,
    systemFirst,
    developerAsSystem,
    callIdCharacters,
    stopSequencesMax,
    extraMembers: [...extraMembers],
    omitMembers: [...omitMembers],
    attestation,
    report: attestation === undefined ? undefined : standingReport(reports, id, attestation),
  }
}

/** Processes before the list of keys read the variable alone; without one, they leave the provider out. */
function keyRecords(keys: readonly ListedKey[]): Pick<Fields<sluice.ProviderRecord.$Properties>, 'apiKeyEnv' | 'keys'> {
  const [first] = keys
  if (first === undefined) return { apiKeyEnv: '', keys: [] }
  if (keys.length === 1 && isShort(first)) return { apiKeyEnv: first.env, keys: [] }
  const apiKeyEnv = keys.find(({ env }) => env !== '')?.env ?? first.id
  return { apiKeyEnv, keys: keys.map(keyRecord) }
}

/** Whether `api_key_env` says all of a key. */
function isShort(key: ListedKey): boolean {
  return key.id === SOLE_KEY && key.file === '' && !isLimited(key)
}

function ownPartRecord(part: OwnPart): Fields<sluice.OwnPartRecord.$Properties> {
  const { name, value, env, file, ...left } = part
  nothingLeft(left)
  return { name, value, env, file }
}

function proxyRecord(proxy: StatedProxy): Fields<sluice.ForwardProxyRecord.$Properties> {
  const { url, env, file, ...left } = proxy
  nothingLeft(left)
  return { url, env, file }
}

function keyRecord(key: ListedKey): Fields<sluice.ProviderKeyRecord.$Properties> {
  const { id, env, file, weight, models, requestsPerMinute, tokensPerMinute, parallel, ...left } = key
  nothingLeft(left)
  return { id, env, file, weight, models: [...models], requestsPerMinute, tokensPerMinute, parallel }
}

function modelRecord(
  model: CatalogModel,
  createdAtMs: number,
  switches: readonly RouteSwitch[],
): Fields<sluice.ModelRecord.$Properties> {
  const { id, name, ownedBy, modality, endpoints, context, maxOutput, defaultOutput, imageTokens, ...rest } = model
  const { pdfTokens, thinking, attested, verified, price, pricePrivate, fallbacks, order, routes, video, ...other } =
    rest
  const { limits, ...left } = other
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
    fallbacks: fallbacks.map(fallbackRecord),
    order: order === 'weight' ? '' : order,
    routes: routes.map((route) => routeRecord(route, switchOf(switches, route) !== undefined)),
    attested,
    unverified: !verified,
    createdAtMs,
    video: video && videoRecord(video),
    quota: limits && { ...limits },
  }
}

function fallbackRecord(fallback: CatalogFallback): Fields<sluice.FallbackRecord.$Properties> {
  const { model, on, ...left } = fallback
  nothingLeft(left)
  return { model, on: [...on] }
}

function routeRecord(route: CatalogRoute, isOff: boolean): Fields<sluice.RouteRecord.$Properties> {
  const { provider, model, enabled, costUnits, priority, weight, ...left } = route
  nothingLeft(left)
  return { provider, model, enabled, switchedOff: isOff || undefined, costUnits, priority, weight }
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
