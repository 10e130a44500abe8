import { chatEndpoints, type Endpoint, type Modality, type Thinking } from '../../../contract/catalog/catalog.ts'
import { DIALECTS_OF, type Dialect } from '../../../contract/catalog/dialects.ts'
import type { FallbackReason } from '../../../contract/catalog/fallback.ts'
import type { Quota } from '../../../contract/catalog/quota.ts'
import type { RouteOrderRule } from '../../../contract/catalog/routeOrder.ts'
import type { VideoSettings } from '../../../contract/catalog/video.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import type { ModelContent, RouteContent, VideoContent } from './catalogContent.ts'
import { readLimits } from './limitsReader.ts'
import type { Price } from './price.ts'
import { readPrice } from './priceReader.ts'
import { routeCostUnits } from './routeCost.ts'

export interface CatalogRoute {
  readonly provider: string
  readonly model: string
  readonly enabled: boolean
  /** The provider's price, in units; see routeCostUnits. */
  readonly costUnits?: number
  /** Routes of one priority share requests by their weights; both are absent where routes are tried in their order. */
  readonly priority?: number
  readonly weight?: number
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
  /** The most tokens that are held for the PDFs of a request; zero where the model takes none. */
  readonly pdfTokens: number
  readonly thinking: Thinking
  /** Of each account on the model; zero is any amount. */
  readonly limits?: Quota
  readonly attested: boolean
  readonly verified: boolean
  readonly price: Price
  readonly pricePrivate?: Price
  /** The models that may serve in place of it, in the order they are asked. */
  readonly fallbacks: readonly CatalogFallback[]
  readonly order: RouteOrderRule
  readonly routes: readonly CatalogRoute[]
  /** The settings of a model of the modality video. */
  readonly video?: VideoSettings
}

/** A model that may serve in place of another. */
export interface CatalogFallback {
  readonly model: string
  readonly on: readonly FallbackReason[]
}

/** The place of a model in the file, and the entries that it may refer to. */
interface ModelPlace {
  readonly file: YamlFile
  readonly path: Path
  /** By the id of each provider. */
  readonly dialects: ReadonlyMap<string, Dialect>
  /** By the id of each model. */
  readonly modalities: ReadonlyMap<string, Modality>
}

/** Reads an entry of `models` that fits its schema; other errors are recorded on the file. */
export function readModel(place: ModelPlace, content: ModelContent): CatalogModel {
  const { file, path } = place
  const maxOutput = content.max_output ?? 0
  const model: CatalogModel = {
    id: content.id,
    name: content.name ?? content.id,
    ownedBy: content.owned_by,
    modality: content.modality,
    endpoints: content.modality === 'chat' ? chatEndpoints(content.endpoints, content.attested) : content.endpoints,
    context: content.context ?? 0,
    maxOutput,
    defaultOutput: content.default_output ?? maxOutput,
    imageTokens: content.image_tokens,
    pdfTokens: pdfTokens(content),
    thinking: content.thinking,
    ...(content.limits && { limits: readLimits(content.limits) }),
    attested: content.attested,
    verified: content.verified,
    price: readPrice(file, [...path, 'price'], content.price),
    ...(content.price_private && {
      pricePrivate: readPrice(file, [...path, 'price_private'], content.price_private),
    }),
    fallbacks: readFallbacks(place, content),
    order: content.order,
    routes: content.routes.map((route, index) => readRoute(place, [...path, 'routes', index], content, route)),
    ...(content.video && { video: readVideo(file, [...path, 'video'], content.video) }),
  }
  checkModel(place, model, content)
  return model
}

// A page may hold any text, and the number of its pages cannot be read from a compressed file; the provider reads no more than
// the context.
function pdfTokens({ pdf_page_tokens: page = 0, pdf_pages: pages, context = 0 }: ModelContent): number {
  if (page === 0) return 0
  return pages === undefined ? context : Math.min(pages * page, context)
}

function checkModel({ file, path, dialects }: ModelPlace, model: CatalogModel, content: ModelContent): void {
  if (model.modality === 'chat' && model.maxOutput > model.context) {
    file.problem([...path, 'max_output'], 'must not be above context')
  }
  if (content.pdf_pages !== undefined && content.pdf_page_tokens === undefined) {
    file.problem([...path, 'pdf_pages'], 'needs pdf_page_tokens')
  }
  if (model.order === 'first_token' && model.modality !== 'chat') {
    file.problem([...path, 'order'], 'must be weight or price, since only chat models have a first token')
  }
  if (model.defaultOutput > model.maxOutput) file.problem([...path, 'default_output'], 'must not be above max_output')
  for (const endpoint of model.endpoints) {
    const serving = DIALECTS_OF[endpoint]
    // A provider that the file does not have is a separate problem.
    if (model.routes.some(({ provider }) => serving.has(dialects.get(provider) ?? 'openai'))) continue
    const names = [...serving].join(' or ')
    file.problem([...path, 'endpoints'], `names ${endpoint}, which only providers of the dialect ${names} serve`)
  }
}

function readFallbacks({ file, path, modalities }: ModelPlace, { id, modality, fallbacks }: ModelContent) {
  if (fallbacks === undefined) return []
  if (modality !== 'chat') file.problem([...path, 'fallbacks'], 'is for chat models alone')
  const seen = new Set([id])
  for (const [index, { model }] of fallbacks.entries()) {
    const at = [...path, 'fallbacks', index, 'model']
    if (seen.has(model)) file.problem(at, model === id ? 'must be another model' : `repeats "${model}"`)
    else if (modalities.get(model) !== 'chat') file.problem(at, `names "${model}", which is no chat model of the file`)
    seen.add(model)
  }
  return fallbacks
}

function readRoute(place: ModelPlace, path: Path, model: ModelContent, content: RouteContent): CatalogRoute {
  const { provider, enabled, cost } = content
  if (!place.dialects.has(provider)) {
    const known = [...place.dialects.keys()].join(', ')
    place.file.problem([...path, 'provider'], `names an unknown provider "${provider}"; providers: ${known}`)
  }
  if ((content.priority === undefined) !== (model.routes[0]?.priority === undefined)) {
    place.file.problem(path, 'must have a priority like the other routes of the model, or all of them none')
  }
  return {
    provider,
    model: content.model ?? model.id,
    enabled,
    ...(cost !== undefined && { costUnits: routeCostUnits(cost, model.modality) }),
    ...(content.priority !== undefined && { priority: content.priority, weight: content.weight }),
  }
}

function readVideo(file: YamlFile, path: Path, content: VideoContent): VideoSettings {
  const aspectRatios = content.aspect_ratios ?? []
  if (content.sizes !== undefined) checkSizes(file, [...path, 'sizes'], content.sizes, aspectRatios)
  return {
    seconds: content.seconds,
    image: content.image,
    aspectRatios,
    sizes: new Map(Object.entries(content.sizes ?? {})),
    resolution: content.resolution ?? '',
    negativePromptMax: content.negative_prompt ?? 0,
    promptMax: content.prompt,
  }
}

/** A provider that is asked for a size needs one for every aspect ratio that clients may ask for. */
function checkSizes(file: YamlFile, path: Path, sizes: Readonly<Record<string, string>>, ratios: readonly string[]) {
  for (const ratio of Object.keys(sizes)) {
    if (!ratios.includes(ratio)) file.problem([...path, ratio], 'is not one of the aspect_ratios')
  }
  const missing = ratios.find((ratio) => !Object.hasOwn(sizes, ratio))
  if (missing !== undefined) file.problem(path, `has no size for the aspect ratio ${missing}`)
}
