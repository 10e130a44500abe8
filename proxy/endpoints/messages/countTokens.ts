import type { Dialect } from '../../../contract/catalog/catalog.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { type MessagesRequest, readMessagesRequest } from '../../dialects/anthropic/messagesRequest.ts'
import type { BodyParser } from '../../json/parseInSteps.ts'
import { parseJsonObject } from '../../json/parseJson.ts'
import { type Exchange, type Handler, JSON_TYPE } from '../../server/exchange.ts'
import { promptTexts } from '../../tokens/promptTexts.ts'
import { chooseRoutes } from '../../upstream/chooseRoutes.ts'
import { RouteHealth } from '../../upstream/routeHealth.ts'
import { checkContext } from '../chat/admit.ts'
import { checkKey } from '../run/checkKey.ts'
import { checkModel, routePolicy } from '../run/checkModel.ts'
import type { RunServices } from '../run/services.ts'
import { OpenCounts } from './openCounts.ts'
import { ProviderCount } from './providerCount.ts'

/** The dialects in which a provider can be asked how many tokens a request has. */
const COUNTING: ReadonlySet<Dialect> = new Set(['anthropic'])

/**
 * POST /v1/messages/count_tokens: exact where a provider of the model counts, else by a tokenizer, which the answer says
 * with `estimated`. Nothing is held or charged.
 */
export function countTokensHandler(
  keys: KeyCache,
  catalog: CatalogStore,
  services: RunServices,
  parser: BodyParser,
): Handler {
  // Counting is no sign of how a route serves, so it has a record of its own.
  const health = new RouteHealth(services.limits)
  const open = new OpenCounts(services.limits)

  const run = async (exchange: Exchange, body: Buffer, principal: Principal): Promise<void> => {
    checkKey(principal, exchange.startedAtMs)
    await parser.prepare(body, 'customer')
    const request = readMessagesRequest(parseJsonObject(body, services.limits.jsonDepthMax), services.limits, false)
    const model = checkModel(request.modelId, catalog.model(request.modelId), 'messages', principal)
    checkContext(request, model)
    const answer = await open.hold(principal.keyId, () => count(exchange, principal, request, model))
    exchange.answer(200, JSON_TYPE, JSON.stringify(answer))
  }

  async function count(
    exchange: Exchange,
    principal: Principal,
    request: MessagesRequest,
    model: Model,
  ): Promise<object> {
    const routes = countingRoutes(model, request, principal, health, exchange.startedAtMs)
    if (routes.length > 0) {
      const tokens = await new ProviderCount(exchange, principal, request, model, routes, health, services).ask()
      if (tokens !== null || exchange.gone) return { input_tokens: tokens }
    }
    const { text, extraTokens } = promptTexts(request.forward, model.imageTokens)
    const [tokens = 0] = await services.tokens.count([text])
    return { input_tokens: tokens + extraTokens, estimated: true }
  }

  return async (exchange, body) => {
    services.metrics.counters.requests++
    await run(exchange, body, await keys.find(readApiKey(exchange.head), exchange.startedAtMs))
  }
}

// Where none may be asked, nothing has to leave the gateway for an answer.
function countingRoutes(
  model: Model,
  request: MessagesRequest,
  principal: Principal,
  health: RouteHealth,
  nowMs: number,
): readonly Route[] {
  try {
    return chooseRoutes(model, routePolicy(request, principal, COUNTING, request.prompt.privateImage), health, nowMs)
  } catch (error) {
    if (error instanceof GatewayError) return []
    throw error
  }
}
