import type { Endpoint } from '../../../contract/catalog/catalog.ts'
import { DIALECTS_OF, dialectsWith } from '../../../contract/catalog/dialects.ts'
import type { FallbackReason } from '../../../contract/catalog/fallback.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { ModelRates } from '../../../contract/money/charge.ts'
import type { Principal } from '../../access/principal.ts'
import { type HoldSize, hasMedia, holdRates, promptTokensMax, sizeHold } from '../../admission/holdSize.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ChatFields, ReadRequest } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import { contextWords } from '../../dialects/shared/contextWords.ts'
import { checkMaxPrice } from '../../dialects/shared/preferences.ts'
import type { CanaryCandidate } from '../../upstream/chooseCanary.ts'
import { chooseRoutes, type RoutePolicy } from '../../upstream/chooseRoutes.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import { affinityOf, conversationOf } from '../run/affinity.ts'
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
  /** Absent for a request that no other model may serve. */
  readonly fallback?: Fallback
}

/** The other models that may serve a request; see admitAny. */
export interface Fallback {
  /** The most that the request costs at any of the models that its key may use, itself included. */
  readonly wantUnits: number
  /** In the order they are asked. */
  readonly candidates: readonly Candidate[]
  /** Why the model that the request names does not serve it; absent where it may. */
  readonly since?: FallbackReason | undefined
  /** The shortest time until a model can be asked that is left out because it cannot be asked now; absent where none is. */
  readonly waitSeconds?: number | undefined
}

/** A request for one of these models. */
export interface Candidate {
  readonly admitted: Admitted
  /** When it may be asked. */
  readonly on: ReadonlySet<FallbackReason>
}

/** When a request is admitted. */
export interface Moment {
  readonly health: RouteHealth
  readonly nowMs: number
  /** Decides whether a registered provider is asked first; '' for none, as for a quote. */
  readonly requestId: string
  /** The session that a header names; '' for none. */
  readonly session: string
}

const BATCH_DIALECTS = dialectsWith(({ batches }) => batches)

/**
 * Checks a chat request against its model and its key, and sizes its hold. Nothing is held when it throws.
 * @throws GatewayError with the code of the first rule that the request breaks
 */
export function admit(
  request: ReadRequest,
  surface: ChatSurface,
  principal: Principal,
  found: Model | undefined,
  moment: Moment,
): Admitted {
  const { health, nowMs } = moment
  const model = checkModel(request.modelId, found, surface.endpoint, principal)
  if (request.batch) checkBatch(request, principal, model)
  checkContext(request, model, surface.endpoint)
  checkPdf(request, model)
  const rates = ratesFor(model, principal, request)
  const dialects = request.batch ? BATCH_DIALECTS : DIALECTS_OF[surface.endpoint]
  const usual = routePolicy(request, principal, dialects, request.prompt.privateImage)
  // Few models have canaries or a choice of keys: the others do without more objects per request.
  const isUsual = model.canaries.length === 0 && !model.leavesChoice
  const policy = isUsual ? usual : withChoice(usual, choiceOf(request, principal, model, moment))
  const routes = chooseRoutes(model, policy, health, nowMs)
  const size = sizeFor(request, model, rates)
  const lock = principal.locks === null ? undefined : lockUse(request, principal.locks, model, { routes, size }, nowMs)
  return { model, rates, routes, size, lock }
}

/** The hold of an admitted request: the most that it costs at any of the models that may serve it. */
export function wantUnitsOf({ size, fallback }: Admitted): number {
  return fallback?.wantUnits ?? size.wantUnits
}

/** The most tokens that a request can use, with any of the models that may serve it. */
export function tokensMaxOf({ size, fallback }: Admitted): number {
  const own = size.promptTokens + size.outputTokens
  return fallback === undefined
    ? own
    : Math.max(own, ...fallback.candidates.map(({ admitted }) => tokensMaxOf(admitted)))
}

/** The hold of a request at a model's rates. */
export function sizeFor(request: ChatFields, model: Model, rates: ModelRates): HoldSize {
  const promptTokens = promptTokensMax(request.prompt, rates, model.imageTokens, model.toolTokens, model.pdfTokens)
  const outputTokens = request.maxTokens ?? defaultOutput(request, model)
  const set = holdRates(rates, promptTokens, hasMedia(request.prompt))
  return sizeHold(set, promptTokens, outputTokens, request.maxTokens === null)
}

type Choice = Pick<RoutePolicy, 'canary' | 'affinity'>

const withChoice = (usual: RoutePolicy, { canary, affinity }: Choice): RoutePolicy => ({ canary, affinity, ...usual })

/** The part of the policy that chooses among several providers or keys. */
function choiceOf(
  request: ReadRequest,
  principal: Principal,
  { canaries, leavesChoice }: Model,
  moment: Moment,
): Choice {
  const canary = canaries.length === 0 ? undefined : mayServeRegistered(request, principal, moment.requestId)
  if (!leavesChoice) return { canary }
  const body = request.native ?? request.forward
  const conversation = request.conversation ?? (body && conversationOf(body))
  return { canary, affinity: affinityOf(principal, moment, conversation) }
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
  if (request.stream) {
    throw new GatewayError('batch_unavailable', {
      message: 'A batch job cannot be streamed; leave stream out.',
      param: 'stream',
    })
  }
  if (request.models !== undefined && request.models.length > 0) {
    throw new GatewayError('batch_unavailable', {
      message: 'A batch job has one model; leave models out.',
      param: 'models',
    })
  }
  if (principal.noLogs) {
    const message = 'A key in no-logs mode has no batch jobs; send the request without batch, or with another key.'
    throw new GatewayError('batch_unavailable', { message })
  }
  if (model.ratesBatch === null) {
    const message = `${model.id} has no batch rates; send the request without batch, or use a model that has them.`
    throw new GatewayError('batch_unavailable', { message, param: 'model' })
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

/** @throws GatewayError no_route_for_policy where the key or the request does not allow them */
export function ratesFor(model: Model, principal: Principal, request: ChatFields): ModelRates {
  const rates = tierRates(model, principal, model.rates, model.ratesPrivate)
  checkMaxPrice(request.preferences, rates, model.id)
  return rates
}

// When the context window is nearly full, some providers refuse a request whose budget exceeds it.
function defaultOutput(request: ChatFields, model: Model): number {
  const left = model.context - Math.ceil(request.prompt.textBytes / BYTES_PER_TOKEN_USUAL)
  return Math.min(model.defaultOutput, Math.max(left, OUTPUT_TOKENS_LEAST))
}
