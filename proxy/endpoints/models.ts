import type { VideoSettings } from '../../contract/catalog/video.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { Catalog, Model } from '../catalog/catalog.ts'
import type { CatalogStore } from '../catalog/catalogStore.ts'
import { type Handler, JSON_TYPE } from '../server/exchange.ts'
import type { RouteHealth } from '../upstream/routeHealth.ts'
import { modelNotFound } from './run/checkModel.ts'

const PREFIX = '/v1/models/'

/** GET /v1/models and GET /v1/models/{id}: the models that serve now, in a shape that both common clients read. */
export function modelsHandler(catalog: CatalogStore, health: RouteHealth): Handler {
  return (exchange) => {
    const { path } = exchange.head
    const models = serving(required(catalog), health)
    if (!path.startsWith(PREFIX)) {
      exchange.answer(200, JSON_TYPE, JSON.stringify(list(models.map(entry))))
      return
    }
    const id = path.slice(PREFIX.length)
    const model = models.find((candidate) => candidate.id === id)
    if (model === undefined) throw notServing(id, catalog.model(id))
    exchange.answer(200, JSON_TYPE, JSON.stringify(entry(model)))
  }
}

/** A listed model that cannot serve now is not one that there is not. */
function notServing(id: string, listed: Model | undefined): GatewayError {
  if (listed === undefined) return modelNotFound(id)
  return new GatewayError(listed.unverified ? 'model_unverified' : 'model_unavailable', { param: 'model' })
}

/** The catalog in force; until control has published one there is nothing to serve. */
export function required(catalog: CatalogStore): Catalog {
  const { current } = catalog
  if (current === null) throw new GatewayError('admission_unavailable', { retryAfterSeconds: 1 })
  return current
}

/** Whether a model has a route that may be tried now. */
export function serves(model: Model, health: Pick<RouteHealth, 'isOpen'>, nowMs: number): boolean {
  return !model.unverified && model.enabledRoutes.some((route) => health.isOpen(route.id, nowMs))
}

function serving(catalog: Catalog, health: RouteHealth): Model[] {
  const nowMs = Date.now()
  return [...catalog.models.values()].filter((model) => serves(model, health, nowMs))
}

function entry(model: Model) {
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAtMs / 1000),
    owned_by: model.ownedBy,
    type: 'model',
    display_name: model.name,
    created_at: new Date(model.createdAtMs).toISOString(),
    modality: model.modality,
    endpoints: [...model.endpoints],
    // Models that are not priced by the token have neither.
    context_length: model.context === 0 ? null : model.context,
    max_output: model.maxOutput === 0 ? null : model.maxOutput,
    attested: model.attested,
    ...(model.video !== null && { video: videoEntry(model.video) }),
  }
}

/** The options of a video model, under the names of the request's fields; lengths are in characters. */
function videoEntry(video: VideoSettings) {
  return {
    seconds: video.seconds,
    image: video.image,
    aspect_ratios: video.aspectRatios,
    resolution: video.resolution === '' ? null : video.resolution,
    negative_prompt_max: video.negativePromptMax === 0 ? null : video.negativePromptMax,
    prompt_max: video.promptMax,
  }
}

function list(data: readonly ReturnType<typeof entry>[]) {
  return {
    object: 'list',
    data,
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data[data.length - 1]?.id ?? null,
  }
}
