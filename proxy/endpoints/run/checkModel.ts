import type { Endpoint } from '../../../contract/catalog/catalog.ts'
import type { Dialect } from '../../../contract/catalog/dialects.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Preferences } from '../../dialects/shared/preferences.ts'
import { notOnPrivateTier, type RoutePolicy } from '../../upstream/chooseRoutes.ts'

const MODEL_ID_CHARACTERS_SHOWN = 128

/** The error for an unknown model id. @param param the member that names it */
export function modelNotFound(modelId: string, param = 'model'): GatewayError {
  const shown = JSON.stringify(modelId.slice(0, MODEL_ID_CHARACTERS_SHOWN))
  const message = `There is no model ${shown}; GET /v1/models lists those that serve.`
  return new GatewayError('model_not_found', { message, param })
}

/**
 * The model of a request, if its key may use it on this endpoint.
 * @param model the catalog's entry of `modelId`
 * @throws GatewayError model_not_found, model_not_allowed, endpoint_not_supported, wrong_endpoint, model_unverified
 */
export function checkModel(modelId: string, model: Model | undefined, endpoint: Endpoint, principal: Principal): Model {
  if (model === undefined) throw modelNotFound(modelId)
  if (principal.models !== null && !principal.models.has(model.id)) {
    throw new GatewayError('model_not_allowed', { param: 'model', figures: { model: model.id } })
  }
  if (model.attested && endpoint !== 'chat') throw new GatewayError('endpoint_not_supported', { param: 'model' })
  if (!model.endpoints.has(endpoint)) {
    const message = `${model.id} does not serve ${endpoint}, but ${[...model.endpoints].join(', ')}; see /v1/pricing.`
    throw new GatewayError('wrong_endpoint', { message, param: 'model' })
  }
  if (model.unverified) throw new GatewayError('model_unverified')
  return model
}

/**
 * The routing policy of a request: its own preferences, within the settings of its key and its account.
 * @param dialects of the providers that can be asked
 * @param privateImage as in `PromptSize`
 */
export function routePolicy(
  request: { readonly preferences: Preferences; readonly cheapest: boolean },
  principal: Principal,
  dialects: ReadonlySet<Dialect>,
  privateImage?: string,
): RoutePolicy {
  const { preferences, cheapest } = request
  const allowRetention = mayRetain(preferences, principal)
  const { allowRegistered } = preferences
  return { allowRetention, allowRegistered, cheapest, dialects, privateImage, attested: principal.privateTier }
}

/**
 * Whether providers and tools that retain data may serve a request: only with an opt-in. The request decides, else its key,
 * else its account; no-logs mode and the private tier of a key exclude it.
 */
export function mayRetain({ allowRetention }: Preferences, principal: Principal): boolean {
  if (principal.noLogs || principal.privateTier) return false
  return allowRetention ?? principal.allowRetention
}

/**
 * The rates that a key pays: those of the private tier for keys that are on it.
 * @throws GatewayError no_route_for_policy when the model is not on that tier, which needs attested hardware
 */
export function tierRates<Rates>(model: Model, principal: Principal, rates: Rates, ratesPrivate: Rates | null): Rates {
  if (!principal.privateTier) return rates
  if (ratesPrivate === null || !model.attested) throw notOnPrivateTier(model.id)
  return ratesPrivate
}
