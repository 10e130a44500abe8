import { dialectsWith } from '../../../contract/catalog/dialects.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { readMessagesRequest } from '../../dialects/anthropic/messagesRequest.ts'
import { printCount } from '../../dialects/anthropic/native.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { type Exchange, type Handler, JSON_TYPE } from '../../server/exchange.ts'
import { chooseRoutes } from '../../upstream/chooseRoutes.ts'
import { RouteHealth } from '../../upstream/routeHealth.ts'
import { checkContext } from '../chat/admit.ts'
import { askModel, type Prompt } from '../chat/source.ts'
import { unitAffinity } from '../run/affinity.ts'
import { checkKey } from '../run/checkKey.ts'
import { checkModel, routePolicy } from '../run/checkModel.ts'
import type { RunServices } from '../run/services.ts'
import { promptTexts } from '../tokens/promptTexts.ts'
import { OpenCounts } from './openCounts.ts'
import { ProviderCount } from './providerCount.ts'

/** The dialects in which a provider can be asked how many tokens a request has. */
const COUNTING = dialectsWith(({ countsTokens }) => countsTokens)

/**
 * POST /v1/messages/count_tokens: exact when a provider of the model counts, else by a tokenizer, marked `estimated` in the
 * answer. Nothing is held or charged.
 */
export function countTokensHandler(keys: KeyCache, catalog: CatalogStore, services: RunServices): Handler {
  // Counting says little about how a route serves, so it has its own health record.
  const health = new RouteHealth(services.limits)
  const open = new OpenCounts(services.limits)

  const run = async (exchange: Exchange, body: Buffer, principal: Principal): Promise<void> => {
    checkKey(principal, exchange.startedAtMs)
    const countable = await readCountable(body, principal, services)
    const { request } = countable
    const model = checkModel(request.modelId, catalog.model(request.modelId), 'messages', principal)
    checkContext(request, model, 'messages')
    const answer = await open.hold(principal.keyId, () => count(exchange, principal, countable, model))
    exchange.answer(200, JSON_TYPE, JSON.stringify(answer))
  }

  async function count(
    exchange: Exchange,
    principal: Principal,
    { request, rest, prompt }: Countable,
    model: Model,
  ): Promise<object> {
    const routes = countingRoutes(model, request, principal, health, exchange)
    if (routes.length > 0) {
      const tokens = await new ProviderCount(exchange, principal, await rest(model), { routes, health }, services).ask()
      if (tokens !== null || exchange.gone) return { input_tokens: tokens }
    }
    const { text, extraTokens } = await prompt(model.imageTokens)
    const [tokens = 0] = await services.tokens.count([text], principal.accountId)
    return { input_tokens: tokens + extraTokens, estimated: true }
  }

  return async (exchange, body) => {
    services.metrics.counters.requests++
    await run(exchange, body, await keys.find(readApiKey(exchange.head), exchange.startedAtMs))
  }
}

/** A request whose tokens are counted. */
interface Countable {
  readonly request: ChatFields
  /** The request for a provider that counts. */
  readonly rest: (model: Model) => string | Promise<Uint8Array>
  readonly prompt: (imageTokens: number) => Prompt | Promise<Prompt>
}

async function readCountable(body: Buffer, principal: Principal, { large, limits }: RunServices): Promise<Countable> {
  const thread = large.of(body, 'customer', principal.accountId)
  if (thread === undefined) {
    const request = readMessagesRequest(readJsonBody(body, limits.jsonDepthMax), limits, false)
    return {
      request,
      rest: (model) => printCount(request, model),
      prompt: (imageTokens) => promptTexts(request.forward, imageTokens),
    }
  }
  return {
    request: await thread.run('chat', { surface: 'messages', answers: false }),
    rest: (model) => thread.run('printCount', { model: askModel(model) }),
    prompt: (imageTokens) => thread.run('prompt', { surface: 'messages', imageTokens }),
  }
}

// Where none may be asked, nothing has to leave the gateway for an answer.
function countingRoutes(
  model: Model,
  request: ChatFields,
  principal: Principal,
  health: RouteHealth,
  exchange: Exchange,
): readonly Route[] {
  try {
    const policy = routePolicy(request, principal, COUNTING, request.prompt.privateImage)
    const affinity = unitAffinity(model, principal, exchange)
    return chooseRoutes(model, { ...policy, affinity }, health, exchange.startedAtMs)
  } catch (error) {
    if (error instanceof GatewayError) return []
    throw error
  }
}
