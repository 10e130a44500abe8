import { DIALECTS_OF } from '../../../contract/catalog/dialects.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { quantityUnits, type UnitRates } from '../../../contract/money/unitRates.ts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { VideoOrder } from '../../dialects/openai/openaiVideos.ts'
import type { Exchange } from '../../server/exchange.ts'
import { chooseRoutes } from '../../upstream/chooseRoutes.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import { unitAffinity } from '../run/affinity.ts'
import { checkModel, routePolicy, tierRates } from '../run/checkModel.ts'
import type { VideoLimits } from './limits.ts'
import { orderOf } from './order.ts'
import type { VideoRequest } from './request.ts'

/** A video job that may run once its hold is granted. */
export interface AdmittedVideo {
  readonly model: Model
  readonly rates: UnitRates
  readonly routes: readonly Route[]
  readonly order: VideoOrder
  /** The clip's seconds times their price. */
  readonly holdUnits: number
  /** Names of members that no provider gets. */
  readonly unknown: readonly string[]
}

/**
 * Checks a request for a clip against its model and its key, and sizes its hold. Nothing is held when it throws.
 * @throws GatewayError with the code of the first rule that the request breaks
 */
export function admitVideo(
  request: VideoRequest,
  principal: Principal,
  found: Model | undefined,
  { health, limits }: { readonly health: RouteHealth; readonly limits: VideoLimits },
  exchange: Exchange,
): AdmittedVideo {
  const model = checkModel(request.modelId, found, 'videos', principal)
  const { video, unitRates } = model
  if (video === null || unitRates === null) throw new GatewayError('model_unavailable')
  const order = orderOf(request, video, limits)
  const rates = tierRates(model, principal, unitRates, model.unitRatesPrivate)
  const affinity = unitAffinity(model, principal, exchange)
  const policy = { ...routePolicy(request, principal, DIALECTS_OF.videos), affinity }
  const routes = chooseRoutes(model, policy, health, exchange.startedAtMs)
  const holdUnits = quantityUnits(rates, order.seconds)
  if (holdUnits === MAX_UNITS) throw new GatewayError('insufficient_balance')
  return { model, rates, routes, order, holdUnits, unknown: request.unknown }
}
