import type { ModelRates } from '../../../control/contract/charge.ts'
import { GatewayError } from '../../../control/contract/errors.ts'
import type { Principal } from '../../access/principal.ts'
import { type HoldSize, promptTokensMax, sizeHold } from '../../admission/holdSize.ts'
import type { Model, Route } from '../../catalog/catalog.ts'
import { chooseRoutes } from '../../upstream/chooseRoutes.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import { checkModel, routePolicy, tierRates } from '../run/checkModel.ts'
import { checkMaxPrice } from '../run/preferences.ts'
import type { ChatSurface } from './codec.ts'
import type { ChatRequest } from './request.ts'

/** No text is so regular that a token of it carries more bytes than this on average. */
const BYTES_PER_TOKEN_MAX = 8
const BYTES_PER_TOKEN_USUAL = 3
const OUTPUT_TOKENS_LEAST = 1_024

/** A request that may run once its hold is granted. */
export interface Admitted {
  readonly model: Model
  readonly rates: ModelRates
  readonly routes: readonly Route[]
  readonly size: HoldSize
}

/**
 * Checks a chat request against its model and its key, and sizes its hold. Nothing is held when it throws.
 * @throws GatewayError with the code of the first rule that the request breaks
 */
export function admit(
  request: ChatRequest,
  surface: ChatSurface,
  principal: Principal,
  found: Model | undefined,
  health: RouteHealth,
  nowMs: number,
): Admitted {
  const model = checkModel(request.modelId, found, surface.endpoint, principal)
  if (request.batch) refuseBatch(request, principal, model)
  checkContext(request, model)
  const rates = ratesFor(model, principal, request)
  const policy = { ...routePolicy(request, principal), dialects: surface.dialects }
  const routes = chooseRoutes(model, policy, health, nowMs)
  const promptTokens = promptTokensMax(request.prompt, rates, model.imageTokens)
  const outputTokens = request.maxTokens ?? defaultOutput(request, model)
  return { model, rates, routes, size: sizeHold(rates, promptTokens, outputTokens, request.maxTokens === null) }
}

// Batch jobs are not taken yet, so a request that could be one is told to come back.
function refuseBatch(request: ChatRequest, principal: Principal, model: Model): never {
  if (principal.privateTier) throw new GatewayError('private_batch_unavailable')
  if (request.stream) throw new GatewayError('batch_unavailable', { message: 'A batch job cannot be streamed.' })
  if (principal.noLogs) throw new GatewayError('batch_unavailable', { message: 'A key in no-logs mode has no batch.' })
  if (!model.hasBatch) throw new GatewayError('batch_unavailable', { message: `${model.id} has no batch rates.` })
  const message = 'The gateway takes no batch jobs now; try again after Retry-After seconds.'
  throw new GatewayError('batch_unavailable', { message, status: 503, retryAfterSeconds: 60 })
}

function checkContext(request: ChatRequest, model: Model): void {
  if (request.maxTokens !== null && request.maxTokens > model.maxOutput) {
    const param = request.maxTokensParam ?? request.maxTokensName
    throw new GatewayError('context_length_exceeded', {
      message: `${param} is ${request.maxTokens}, but ${model.id} gives at most ${model.maxOutput}.`,
      param,
    })
  }
  if (request.prompt.textBytes / BYTES_PER_TOKEN_MAX > model.context) {
    throw new GatewayError('context_length_exceeded', {
      message: `The prompt cannot fit the ${model.context} tokens that ${model.id} takes.`,
      param: request.promptParam ?? 'messages',
    })
  }
}

function ratesFor(model: Model, principal: Principal, request: ChatRequest): ModelRates {
  const rates = tierRates(model, principal, model.rates, model.ratesPrivate)
  checkMaxPrice(request.preferences, rates, model.id)
  return rates
}

// Where the window is nearly full, a budget that exceeded it would make some providers refuse the request.
function defaultOutput(request: ChatRequest, model: Model): number {
  const left = model.context - Math.ceil(request.prompt.textBytes / BYTES_PER_TOKEN_USUAL)
  return Math.min(model.defaultOutput, Math.max(left, OUTPUT_TOKENS_LEAST))
}
