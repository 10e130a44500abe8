import type { Dialect } from '../../contract/catalog/dialects.ts'
import { GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import type { RefusalFigures } from '../../contract/errors/figures.ts'
import type { Model } from '../catalog/catalog.ts'
import type { Route } from '../catalog/pricedItem.ts'
import { type CanaryCandidate, chooseCanary } from './chooseCanary.ts'
import { limited } from './keyVerdict.ts'
import type { RouteHealth } from './routeHealth.ts'
import { spreadRoutes } from './spreadRoutes.ts'

/** The requirements of a request, its key and its account for routes. */
export interface RoutePolicy {
  /** Providers that retain data may serve. */
  readonly allowRetention: boolean
  /** Registered providers may serve. */
  readonly allowRegistered: boolean
  /** The routes of the cheapest providers are tried first. */
  readonly cheapest: boolean
  /** Only providers of these dialects can be asked. */
  readonly dialects: ReadonlySet<Dialect>
  /**
   * The field with the address of an image that may be sent only to providers with `privateImages`; absent when there is no
   * such image.
   */
  readonly privateImage?: string | undefined
  /** Only providers that can send answers of a kind as events may serve, which `param` asks for; absent is any. */
  readonly events?: { readonly kind: string; readonly param: string } | undefined
  /** Only providers with an attestation in force may serve: the private tier. */
  readonly attested: boolean
  /** The conversation of the request, see affinityOf; absent for a model that leaves no choice. */
  readonly affinity?: number | undefined
  /** A registered provider may be asked first; absent is not. */
  readonly canary?: CanaryCandidate | undefined
}

/**
 * The routes that may serve a request, in the order to try them: healthy routes only. While there is none, the request is
 * refused with the time until the first one may be tried again.
 * @throws GatewayError model_unavailable, no_route_for_policy, model_unverified, invalid_request
 */
export function chooseRoutes(model: Model, policy: RoutePolicy, health: RouteHealth, nowMs: number): readonly Route[] {
  const { dialects, cheapest } = policy
  if (policy.attested && !model.attested) throw notOnPrivateTier(model.id)
  if (spoken(model.enabledRoutes, dialects).length === 0)
    throw new GatewayError('model_unavailable', { figures: figuresOf(model, []) })
  if (policy.events !== undefined) checkStreams(model, policy.events)
  const order = cheapest ? model.cheapestOrder : model.usualOrder
  const kept = spoken(policy.allowRetention ? order.all : order.traceless, dialects)
  if (kept.length === 0) throw noneKept(model)
  const proved = policy.attested ? attested(kept, model.id, nowMs) : kept
  const allowed = policy.privateImage === undefined ? proved : reachingInside(proved, policy.privateImage)
  const able = policy.events === undefined ? allowed : streaming(allowed, policy.events.kind)
  const healthy = those(able, (route) => health.isOpen(route.id, nowMs))
  const open = model.leavesChoice
    ? spreadRoutes(healthy, policy.affinity ?? 0, cheapest ? null : model.order, health, nowMs)
    : healthy
  if (open.length > 0) return withCanary(open, model, policy, health, nowMs)
  if (able.length === 0) throw noneKept(model)
  throw noneNow(model, able, health, nowMs)
}

/** The error while no route can be asked, with the time until the first one can. */
function noneNow(model: Model, routes: readonly Route[], health: RouteHealth, nowMs: number): GatewayError {
  const figures = figuresOf(model, routes)
  const waitMs = Math.min(...routes.map((route) => health.waitMs(route.id, nowMs)))
  const isLimited = routes.some(({ id, keyed }) =>
    keyed === undefined ? health.isLimited(id, nowMs) : health.keys.allOut(keyed, nowMs)?.limited,
  )
  if (isLimited) return limited(waitMs, figures)
  return new GatewayError('model_unavailable', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)), figures })
}

/** The error for a model whose routes are all excluded by the policy. */
function noneKept(model: Model): GatewayError {
  return new GatewayError('no_route_for_policy', { message: keepsAll(model.id), figures: figuresOf(model, []) })
}

function figuresOf({ id, enabledRoutes }: Model, allowed: readonly Route[]): RefusalFigures {
  return {
    refusedBy: 'routes',
    model: id,
    routes: { enabled: enabledRoutes.length, allowed: allowed.length, open: 0 },
  }
}

/** A registered provider is followed by the model's own routes, so that its failure does not affect the client. */
function withCanary(
  open: readonly Route[],
  model: Model,
  policy: RoutePolicy,
  health: RouteHealth,
  nowMs: number,
): readonly Route[] {
  if (model.canaries.length === 0 || policy.canary === undefined) return open
  const canary = chooseCanary(model, policy, policy.canary, health, nowMs)
  return canary === undefined ? open : [canary, ...open]
}

/** The routes without the canary. */
export function ownRoutes(routes: readonly Route[]): readonly Route[] {
  return routes[0]?.registered === undefined ? routes : routes.slice(1)
}

/** The error for a model that the private tier does not have. */
export function notOnPrivateTier(modelId: string): GatewayError {
  const message = `${modelId} does not serve the private tier; /v1/pricing lists the attested models that do.`
  return new GatewayError('no_route_for_policy', { message, param: 'model' })
}

function spoken(routes: readonly Route[], dialects: ReadonlySet<Dialect>): readonly Route[] {
  return those(routes, (route) => dialects.has(route.provider.dialect))
}

/** The routes that pass; the same list when all do, as they nearly always do. */
function those(routes: readonly Route[], pass: (route: Route) => boolean): readonly Route[] {
  return routes.every(pass) ? routes : routes.filter(pass)
}

/** @throws GatewayError model_unverified while no provider has an attestation in force */
function attested(routes: readonly Route[], modelId: string, nowMs: number): readonly Route[] {
  const found = those(routes, ({ provider }) => provider.report !== null && provider.report.validUntilMs > nowMs)
  if (found.length > 0) return found
  const message =
    `No provider of ${modelId} has a verified attestation report now, so that the private tier cannot be served; ` +
    'see /v1/privacy/attestation.'
  throw new GatewayError('model_unverified', { message })
}

/** @throws GatewayError invalid_request where no provider may be sent an address inside a network */
function reachingInside(routes: readonly Route[], field: string): readonly Route[] {
  const found = those(routes, (route) => route.provider.privateImages)
  if (found.length > 0) return found
  throw invalidRequest(`${field} must be a data URL or an https:// address on the public internet.`, field)
}

/** @throws GatewayError unsupported_parameter where no provider of the model sends such answers as events */
function checkStreams({ id, enabledRoutes }: Model, { kind, param }: NonNullable<RoutePolicy['events']>): void {
  if (streaming(enabledRoutes, kind).length > 0) return
  const message = `No provider of ${id} sends ${kind} as events; leave ${param} out.`
  throw new GatewayError('unsupported_parameter', { message, param })
}

function streaming(routes: readonly Route[], kind: string): readonly Route[] {
  return those(routes, ({ provider }) => provider.eventStreams?.includes(kind) === true)
}

function keepsAll(modelId: string): string {
  return (
    `Every provider of ${modelId} keeps what it is sent. Opt in with provider.allow_retention true in the request, or ` +
    'with allow_retention true on the key or the account, or use another model; a key in no-logs mode or on the private ' +
    'tier cannot opt in.'
  )
}
