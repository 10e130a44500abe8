import type { Endpoint } from '../../../contract/catalog/catalog.ts'
import { DIALECTS_OF, dialectsWith } from '../../../contract/catalog/dialects.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { ModelRates } from '../../../contract/money/charge.ts'
import type { Principal } from '../../access/principal.ts'
import { type HoldSize, hasMedia, holdRates, promptTokensMax, sizeHold } from '../../admission/holdSize.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import { contextWords } from '../../dialects/shared/contextWords.ts'
import { checkMaxPrice } from '../../dialects/shared/preferences.ts'
import type { CanaryCandidate } from '../../upstream/chooseCanary.ts'
import { chooseRoutes } from '../../upstream/chooseRoutes.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import { checkModel, routePolicy, tierRates } from '../run/checkModel.ts'
import type { LockUse } from '../run/metered.ts'
import { lockUse } from './lockUse.ts'

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
  /** Undefined for a request that burns no tokens of a lock. */
  readonly lock: LockUse | undefined
}

const BATCH_DIALECTS = dialectsWith(({ batches }) => batches)

/**
 * Checks a chat request against its model and its key, and sizes its hold. Nothing is held when it throws.
 * @param requestId decides whether a registered provider is asked first; '' for none, as for a quote
 * @throws GatewayError with the code of the first rule that the request breaks
 */
export function admit(
  request: ChatFields,
  surface: ChatSurface,
  principal: Principal,
  found: Model | undefined,
  health: RouteHealth,
  nowMs: number,
  requestId = '',
): Admitted {
  const model = checkModel(request.modelId, found, surface.endpoint, principal)
  if (request.batch) checkBatch(request, principal, model)
  checkContext(request, model, surface.endpoint)
  checkPdf(request, model)
  const rates = ratesFor(model, principal, request)
  const dialects = request.batch ? BATCH_DIALECTS : DIALECTS_OF[surface.endpoint]
  const policy = routePolicy(request, principal, dialects, request.prompt.privateImage)
  // Few models have canaries: the others do without another object per request.
  const canary = model.canaries.length === 0 ? undefined : mayServeRegistered(request, principal, requestId)
  const routes = chooseRoutes(model, canary === undefined ? policy : { ...policy, canary }, health, nowMs)
  const promptTokens = promptTokensMax(request.prompt, rates, model.imageTokens, model.toolTokens, model.pdfTokens)
  const outputTokens = request.maxTokens ?? defaultOutput(request, model)
  const set = holdRates(rates, promptTokens, hasMedia(request.prompt))
  const size = sizeHold(set, promptTokens, outputTokens, request.maxTokens === null)
  const lock = principal.locks === null ? undefined : lockUse(request, principal.locks, model, routes, size, nowMs)
  return { model, rates, routes, size, lock }
}

/** @throws GatewayError 400 for a PDF that is to be read by a model that takes none */
function checkPdf({ prompt: { newPdf } }: ChatFields, { id, pdfTokens }: Model): void {
  if (newPdf === undefined || pdfTokens > 0) return
  throw invalidRequest(`${newPdf} is a PDF, which ${id} does not take; send its text, or images of its pages.`, newPdf)
}

/** Registered providers serve no batches, and no keys in no-logs mode or on the private tier. */
function mayServeRegistered(request: ChatFields, principal: Principal, requestId: string): CanaryCandidate | undefined {
  if (requestId === '' || request.batch || principal.noLogs || principal.privateTier) return undefined
  return { requestId, accountId: principal.accountId }
}

/** @throws GatewayError batch_unavailable, private_batch_unavailable for a request that cannot be a batch job */
function checkBatch(request: ChatFields, principal: Principal, model: Model): void {
  if (principal.paysPerRequest) {
    throw new GatewayError('batch_unavailable', { message: 'A batch job needs an API key; send it to /v1.' })
  }
  if (principal.privateTier || model.attested) throw new GatewayError('private_batch_unavailable')
  if (request.stream) throw new GatewayError('batch_unavailable', { message: 'A batch job cannot be streamed.' })
  if (principal.noLogs) throw new GatewayError('batch_unavailable', { message: 'A key in no-logs mode has no batch.' })
  if (model.ratesBatch === null) {
    throw new GatewayError('batch_unavailable', { message: `${model.id} has no batch rates.`, param: 'model' })
  }
  if (!model.enabledRoutes.some((route) => BATCH_DIALECTS.has(route.provider.dialect))) {
    const message = `No provider of ${model.id} runs batch jobs now; send the request without batch.`
    throw new GatewayError('batch_unavailable', { message, param: 'model' })
  }
}

/**
 * @param endpoint whose form the error has
 * @throws GatewayError context_length_exceeded for a prompt or an output beyond the model's limits
 */
export function checkContext(request: ChatFields, model: Model, endpoint: Endpoint): void {
  checkOutput(request.maxTokens, request.maxTokensParam ?? request.maxTokensName, model, endpoint)
  checkOutput(request.maxTokensBeside ?? null, 'max_tokens', model, endpoint)
  if (leastPromptTokens(request) <= model.context) return
  const message = `The prompt cannot fit the ${model.context} tokens that ${model.id} takes.`
  const error = new GatewayError('context_length_exceeded', { message, param: request.promptParam ?? 'messages' })
  throw toldRefusal(error, request, model, endpoint)
}

/** A refusal in the form of the endpoint, whose words for a full context its agents know. */
export function toldRefusal(
  error: GatewayError,
  request: ChatFields,
  { context }: Pick<Model, 'context'>,
  endpoint: Endpoint,
): GatewayError {
  return contextWords(error, endpoint, leastPromptTokens(request), context)
}

/** The tokens that the prompt of a request has at least. */
function leastPromptTokens({ prompt }: ChatFields): number {
  return Math.ceil(prompt.textBytes / BYTES_PER_TOKEN_MAX)
}

function checkOutput(maxTokens: number | null, param: string, model: Model, endpoint: Endpoint): void {
  if (maxTokens === null || maxTokens <= model.maxOutput) return
  const message =
    endpoint === 'messages'
      ? `${param}: ${maxTokens} > ${model.maxOutput}, which is the maximum allowed number of output tokens for this model`
      : `${param} is ${maxTokens}, but ${model.id} gives at most ${model.maxOutput}.`
  throw new GatewayError('context_length_exceeded', { message, param })
}

function ratesFor(model: Model, principal: Principal, request: ChatFields): ModelRates {
  const rates = tierRates(model, principal, model.rates, model.ratesPrivate)
  checkMaxPrice(request.preferences, rates, model.id)
  return rates
}

// When the context window is nearly full, some providers refuse a request whose budget exceeds it.
function defaultOutput(request: ChatFields, model: Model): number {
  const left = model.context - Math.ceil(request.prompt.textBytes / BYTES_PER_TOKEN_USUAL)
  return Math.min(model.defaultOutput, Math.max(left, OUTPUT_TOKENS_LEAST))
}
