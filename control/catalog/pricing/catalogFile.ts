import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import {
  chatEndpoints,
  DATA_POLICIES,
  type DataPolicy,
  DIALECTS,
  type Dialect,
  ENDPOINTS,
  ENDPOINTS_OF,
  type Endpoint,
  MODALITIES,
  type Modality,
  THINKING,
  type Thinking,
} from '../../../contract/catalog/catalog.ts'
import type { VideoSettings } from '../../../contract/catalog/video.ts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import type { Price } from './price.ts'
import { readPrice } from './priceReader.ts'
import { readRouteCost } from './routeCost.ts'
import { type CatalogTool, readTool } from './toolReader.ts'
import { addressOf, booleanOf, choiceOf, idOf, textOf, tokensOf, usdOf, variableOf } from './values.ts'
import { readVideoSettings } from './videoReader.ts'
import { CatalogError, type Field, YamlReader } from './yamlReader.ts'

const FILE_BYTES_MAX = 4_194_304
const IMAGE_TOKENS = 1_500
const PROVIDER_KEYS = [
  'id',
  'base_url',
  'dialect',
  'api_key_env',
  'data_policy',
  'max_tokens_field',
  'batch',
  'private_images',
]
const ROUTE_KEYS = ['provider', 'model', 'enabled', 'cost']
const MODEL_KEYS = [
  'id',
  'name',
  'owned_by',
  'modality',
  'endpoints',
  'context',
  'max_output',
  'default_output',
  'image_tokens',
  'thinking',
  'attested',
  'verified',
  'price',
  'price_private',
  'routes',
  'video',
]

export interface CatalogProvider {
  readonly id: string
  readonly baseUrl: string
  readonly dialect: Dialect
  /** '' for a provider that takes no key. */
  readonly apiKeyEnv: string
  readonly dataPolicy: DataPolicy
  readonly maxTokensField: string
  /** It serves the files and batches of the OpenAI dialect. */
  readonly batch: boolean
  /** It may be sent addresses of images that are not https on the public internet. */
  readonly privateImages: boolean
}

export interface CatalogRoute {
  readonly provider: string
  readonly model: string
  readonly enabled: boolean
  /** What the provider charges, in units; see readRouteCost. */
  readonly costUnits?: number
}

export interface CatalogModel {
  readonly id: string
  readonly name: string
  readonly ownedBy: string
  readonly modality: Modality
  readonly endpoints: readonly Endpoint[]
  /** Tokens; zero where the modality has no such bound. */
  readonly context: number
  readonly maxOutput: number
  readonly defaultOutput: number
  readonly imageTokens: number
  readonly thinking: Thinking
  readonly attested: boolean
  readonly verified: boolean
  readonly price: Price
  readonly pricePrivate?: Price
  readonly routes: readonly CatalogRoute[]
  /** What a model of the modality video takes. */
  readonly video?: VideoSettings
}

/** Where the fields of a catalog stand, so that a complaint about one can name its line. */
export interface CatalogSource {
  readonly file: string
  /** By path, such as `models[0].price.input`. */
  readonly lines: ReadonlyMap<string, number>
}

/** A catalog file that holds in every respect. */
export interface Catalog {
  readonly source: CatalogSource
  readonly coinUsdUnits: number
  /** Whether the promise of its sheet is renewed while the sheet is in force. */
  readonly renewsPromise: boolean
  readonly providers: readonly CatalogProvider[]
  readonly models: readonly CatalogModel[]
  readonly tools: readonly CatalogTool[]
}

/**
 * Reads and checks a catalog file.
 * @throws CatalogError with a line per problem, each naming the file, the line and the reason
 */
export async function readCatalogFile(path: string): Promise<Catalog> {
  const file = basename(path)
  const size = await stat(path).then(
    (found) => found.size,
    (error: Error) => error,
  )
  if (size instanceof Error) {
    throw new CatalogError([`${file}:1: cannot be read: ${size.message}; SLUICE_CATALOG names the catalog file`])
  }
  if (size > FILE_BYTES_MAX) throw new CatalogError([`${file}:1: is larger than ${FILE_BYTES_MAX} bytes`])
  return parseCatalog(file, await readFile(path, 'utf8'))
}

/**
 * Checks the text of a catalog.
 * @param file the name that problems carry
 * @throws CatalogError as `readCatalogFile`
 */
export function parseCatalog(file: string, text: string): Catalog {
  const reader = new YamlReader(file, text)
  const map = reader.map(reader.root, ['coin', 'rate_lock', 'providers', 'models', 'tools'])
  const coinUsdUnits = readCoin(reader, reader.required(map, reader.root, 'coin'))
  const rateLock = map.get('rate_lock')
  const renewsPromise = booleanOf(reader, rateLock && reader.map(rateLock, ['renew']).get('renew'), true)
  const providerFields = reader.list(reader.required(map, reader.root, 'providers'))
  const providers = providerFields.map((field) => readProvider(reader, field))
  refuseRepeated(reader, providerFields, providers)
  const dialects = new Map(providers.map((provider) => [provider.id, provider.dialect]))
  const modelFields = reader.list(reader.required(map, reader.root, 'models'))
  const models = modelFields.map((field) => readModel(reader, field, dialects))
  refuseRepeated(reader, modelFields, models)
  const toolFields = reader.list(map.get('tools'))
  const tools = toolFields.map((field) => readTool(reader, field))
  refuseRepeated(reader, toolFields, tools)
  reader.finish()
  return { source: { file, lines: reader.lines }, coinUsdUnits, renewsPromise, providers, models, tools }
}

function readCoin(reader: YamlReader, field: Field | undefined): number {
  if (field === undefined) return 0
  const usd = reader.required(reader.map(field, ['usd']), field, 'usd')
  if (usd === undefined) return 0
  const units = usdOf(reader, usd)
  if (units <= 0 || units > MAX_UNITS) reader.problem(usd, 'must be more than 0')
  return units
}

function refuseRepeated(reader: YamlReader, fields: readonly Field[], entries: ReadonlyArray<{ id: string }>): void {
  const seen = new Map<string, string>()
  entries.forEach(({ id }, index) => {
    const field = fields[index]
    const first = seen.get(id)
    if (first === undefined) seen.set(id, field?.path ?? '')
    else if (field && id !== '') reader.problem(field, `repeats the id "${id}" of ${first}`)
  })
}

function readProvider(reader: YamlReader, field: Field): CatalogProvider {
  const map = reader.map(field, PROVIDER_KEYS)
  const maxTokensField = map.get('max_tokens_field')
  const batch = map.get('batch')
  const dialect = choiceOf(reader, reader.required(map, field, 'dialect'), DIALECTS) ?? 'openai'
  if (batch && dialect !== 'openai') reader.problem(batch, 'is for providers of the dialect openai')
  return {
    id: idOf(reader, reader.required(map, field, 'id')),
    baseUrl: addressOf(reader, reader.required(map, field, 'base_url')),
    dialect,
    apiKeyEnv: variableOf(reader, map.get('api_key_env')),
    dataPolicy: choiceOf(reader, reader.required(map, field, 'data_policy'), DATA_POLICIES) ?? 'retained',
    maxTokensField: choiceOf(reader, maxTokensField, ['max_tokens', 'max_completion_tokens']) ?? '',
    batch: booleanOf(reader, batch, false),
    privateImages: booleanOf(reader, map.get('private_images'), false),
  }
}

function readModel(reader: YamlReader, field: Field, dialects: ReadonlyMap<string, Dialect>): CatalogModel {
  const map = reader.map(field, MODEL_KEYS)
  const id = idOf(reader, reader.required(map, field, 'id'))
  const modality = choiceOf(reader, reader.required(map, field, 'modality'), MODALITIES) ?? 'chat'
  const isText = modality === 'chat'
  const context = isText ? reader.required(map, field, 'context') : map.get('context')
  const maxOutput = isText ? reader.required(map, field, 'max_output') : map.get('max_output')
  const price = reader.required(map, field, 'price')
  const pricePrivate = map.get('price_private')
  const endpoints = reader.required(map, field, 'endpoints')
  const attested = booleanOf(reader, map.get('attested'), false)
  const named = readEndpoints(reader, endpoints, modality)
  const model: CatalogModel = {
    id,
    name: map.has('name') ? textOf(reader, map.get('name')) : id,
    ownedBy: textOf(reader, reader.required(map, field, 'owned_by')),
    modality,
    endpoints: isText ? chatEndpoints(named, attested) : named,
    context: tokensOf(reader, context),
    maxOutput: tokensOf(reader, maxOutput),
    defaultOutput: tokensOf(reader, map.get('default_output'), tokensOf(reader, maxOutput)),
    imageTokens: tokensOf(reader, map.get('image_tokens'), IMAGE_TOKENS),
    thinking: choiceOf(reader, map.get('thinking'), THINKING) ?? 'none',
    attested,
    verified: booleanOf(reader, map.get('verified'), true),
    price: price ? readPrice(reader, price, modality, false) : { amounts: new Map() },
    ...(pricePrivate && { pricePrivate: readPrice(reader, pricePrivate, modality, true) }),
    routes: readRoutes(reader, reader.required(map, field, 'routes'), { dialects, modelId: id, modality }),
    ...(modality === 'video' && { video: readVideoSettings(reader, field, map.get('video')) }),
  }
  if (pricePrivate && !model.attested) {
    reader.problem(pricePrivate, 'is for models that run on attested hardware; they say attested: true')
  }
  const video = map.get('video')
  if (video && modality !== 'video') reader.problem(video, 'is for models of the modality video')
  if (isText && model.maxOutput > model.context && maxOutput) reader.problem(maxOutput, 'must not be above context')
  const defaultOutput = map.get('default_output')
  if (defaultOutput && model.defaultOutput > model.maxOutput)
    reader.problem(defaultOutput, 'must not be above max_output')
  if (endpoints && model.endpoints.includes('completions') && !servesText(model.routes, dialects))
    reader.problem(endpoints, 'names completions, which only providers of the dialect openai serve')
  return model
}

// A route that is at fault itself is a problem of its own.
function servesText(routes: readonly CatalogRoute[], dialects: ReadonlyMap<string, Dialect>): boolean {
  return routes.length === 0 || routes.some(({ provider }) => (dialects.get(provider) ?? 'openai') === 'openai')
}

function readEndpoints(reader: YamlReader, field: Field | undefined, modality: Modality): Endpoint[] {
  const endpoints: Endpoint[] = []
  for (const item of reader.list(field)) {
    const endpoint = choiceOf(reader, item, ENDPOINTS)
    if (endpoint === undefined) continue
    if (endpoints.includes(endpoint)) reader.problem(item, `repeats ${endpoint}`)
    else endpoints.push(endpoint)
    if (!ENDPOINTS_OF[modality].includes(endpoint)) {
      reader.problem(item, `is not served by ${modality} models, which serve: ${ENDPOINTS_OF[modality].join(', ')}`)
    }
  }
  if (field && endpoints.length === 0) reader.problem(field, 'must name at least one endpoint')
  return endpoints
}

interface RouteOwner {
  readonly dialects: ReadonlyMap<string, Dialect>
  readonly modelId: string
  readonly modality: Modality
}

function readRoutes(
  reader: YamlReader,
  field: Field | undefined,
  { dialects, modelId, modality }: RouteOwner,
): CatalogRoute[] {
  const routes = reader.list(field).map((item) => {
    const map = reader.map(item, ROUTE_KEYS)
    const providerField = reader.required(map, item, 'provider')
    const provider = idOf(reader, providerField)
    if (providerField && provider !== '' && !dialects.has(provider)) {
      reader.problem(
        providerField,
        `names an unknown provider "${provider}"; providers: ${[...dialects.keys()].join(', ')}`,
      )
    }
    const model = map.has('model') ? textOf(reader, map.get('model')) : modelId
    const costUnits = readRouteCost(reader, map.get('cost'), modality)
    return {
      provider,
      model,
      enabled: booleanOf(reader, map.get('enabled'), true),
      ...(costUnits !== undefined && { costUnits }),
    }
  })
  if (field && routes.length === 0) reader.problem(field, 'must name at least one route')
  return routes
}
