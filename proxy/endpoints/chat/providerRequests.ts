import type { Dialect } from '../../../contract/catalog/dialects.ts'
import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { RequestPart } from '../../../contract/providers/requestPart.ts'
import type { Span } from '../../../contract/std/span.ts'
import { grantedOutputTokens } from '../../admission/holdSize.ts'
import type { Provider, Route } from '../../catalog/pricedItem.ts'
import {
  type AnswerContext,
  type ChatCodec,
  codecOf,
  type ProviderRequestBuilder,
} from '../../dialects/shared/codec.ts'
import type { HeaderList } from '../../server/exchange.ts'
import { limited } from '../../upstream/keyVerdict.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import { RefusedPart } from '../../upstream/refusal.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { AnswerInput } from '../largeBodies/largeTasks.ts'
import type { RunContext } from '../run/context.ts'
import type { Metered } from '../run/metered.ts'
import { type Candidate, toldRefusal } from './admit.ts'
import type { GrantedOrder } from './chatBill.ts'
import { droppedHeader } from './droppedHeader.ts'
import { nextCandidate, reasonOf, sooner } from './fallback.ts'
import { type ChatOrder, meteredOf } from './order.ts'
import { noteRefused, refusedBefore } from './refusedBefore.ts'
import { formKey, WHOLE } from './source.ts'

/** The run of a request whose model may change before it is served. */
interface ServingRun extends RunContext {
  /** The route that answers, or was asked last; null before any is. */
  readonly asked: Route | null
  /** From now on another model serves: its routes are asked, and its price sheet counts. */
  serveBy(metered: Metered): void
}

const NONE: readonly Candidate[] = []

/** The requests to providers for a chat request, and the readers of their answers: one codec for each dialect. */
export class ProviderRequests implements GrantedOrder {
  private readonly run: ServingRun
  /** For the model that serves the request, or is asked. */
  order: ChatOrder
  private dialect: Dialect = 'openai'
  private builder: ProviderRequestBuilder | undefined
  private form = ''
  private outputFromTotal = false
  /** Output tokens that the hold pays for. */
  maxTokens = 0
  private heldUnits = 0
  /** Models that may be asked yet. */
  private candidates: readonly Candidate[]
  /** The shortest wait of the models that could not serve the request; undefined where none states one. */
  private waitSeconds: number | undefined
  /** The parts of the request that a provider has refused, which are left out since. */
  private leavesOut: readonly RequestPart[]
  /** The answer has a header with the model that serves. */
  private readonly isFlexible: boolean

  constructor(run: ServingRun, order: ChatOrder) {
    this.run = run
    this.order = order
    const { admitted, source } = order
    // Others are written for the whole request.
    this.leavesOut = source.writesLate ? refusedBefore(admitted.model, run.exchange.startedAtMs) : WHOLE
    this.candidates = order.admitted.fallback?.candidates ?? NONE
    this.waitSeconds = order.admitted.fallback?.waitSeconds
    this.isFlexible = order.admitted.fallback !== undefined
  }

  /** The codec for the provider that is being asked. */
  get codec(): ChatCodec {
    return codecOf(this.order.surface, this.dialect)
  }

  /** The context of the request whose answer is read. */
  get answerContext(): AnswerContext {
    const { exchange, services } = this.run
    const { admitted, request } = this.order
    const { id: requestId, startedAtMs } = exchange
    const { outputFromTotal } = this
    return { requestId, startedAtMs, model: admitted.model, outputFromTotal, request, limits: services.limits }
  }

  /** The answer of the provider that is being asked, for another thread to read. */
  answerInput(cuts: readonly Span[], isCounted: boolean): AnswerInput {
    const { requestId, startedAtMs, model, outputFromTotal, request } = this.answerContext
    const { id, context, maxOutput, imageTokens } = model
    const { includeUsage, echo = '', prompt, tools = [], returnsThoughts = false, compacts = false } = request
    return {
      surface: this.order.surface.name,
      dialect: this.dialect,
      cuts,
      context: {
        requestId,
        startedAtMs,
        model: { id, context, maxOutput, imageTokens },
        outputFromTotal,
        request: { includeUsage, echo, prompt, tools, returnsThoughts, compacts },
      },
      isCounted,
    }
  }

  /**
   * Bounds the output by the hold; called once, before the first request is made.
   * @param lockUnits the part of the hold that is tokens of a lock
   */
  grant(heldUnits: number, lockUnits: number): void {
    const { size, lock, fallback } = this.order.admitted
    this.heldUnits = heldUnits
    if (fallback?.since !== undefined) this.run.services.metrics.noteFallback(fallback.since)
    this.maxTokens = lock?.hold.outputTokens(heldUnits, lockUnits) ?? grantedOutputTokens(size, heldUnits)
  }

  /**
   * Goes on after this error: without the part of the request that was refused, else to the next model that may serve it.
   * @returns whether it does; a promise where the requests are being written first
   */
  fallBack(error: GatewayError): boolean | Promise<void> {
    if (error.cause instanceof RefusedPart && !this.leavesOut.includes(error.cause.part)) {
      const { part } = error.cause
      noteRefused(this.order.admitted.model, part, this.run.exchange.startedAtMs, this.run.services.limits)
      this.leavesOut = [...this.leavesOut, part]
      this.builder = undefined
      return this.order.source.prepare(this.order.admitted, this.leavesOut) ?? true
    }
    if (error.row === 'rate_limited') this.waitSeconds = sooner(this.waitSeconds, error.retryAfterSeconds)
    if (this.candidates.length === 0) return false
    const { order, heldUnits } = this
    const next = nextCandidate(this.candidates, order.admitted, error, heldUnits)
    const reason = reasonOf(error)
    if (next === undefined || reason === undefined) return false
    this.candidates = this.candidates.slice(this.candidates.indexOf(next) + 1)
    this.order = { ...order, admitted: next.admitted }
    this.builder = undefined
    this.maxTokens = grantedOutputTokens(next.admitted.size, heldUnits)
    this.run.serveBy(meteredOf(this.order))
    this.run.services.metrics.noteFallback(reason)
    return this.order.source.prepare(next.admitted, this.leavesOut) ?? true
  }

  /** The error as the client gets it when no model is left: one that asks it to wait names the shortest wait of all models. */
  told(error: GatewayError): GatewayError {
    const { admitted, request, surface } = this.order
    const seconds = sooner(this.waitSeconds, error.retryAfterSeconds)
    const isSooner = error.row === 'rate_limited' && seconds !== undefined && seconds !== error.retryAfterSeconds
    return toldRefusal(isSooner ? limited(seconds * 1000) : error, request, admitted.model, surface.endpoint)
  }

  /** The headers of the answer that only some requests have. */
  get headers(): HeaderList {
    const { run, order, isFlexible } = this
    const dropped = droppedHeader(run, order, this.leavesOut, this.builder?.dropped)
    return isFlexible ? [...dropped, 'x-served-model', order.admitted.model.id] : dropped
  }

  /** The most bytes that an answer in one piece may have, by what the hold pays for. */
  get answerBytesMax(): number {
    const { answerBytesBase, answerBytesPerTokenMax, chatAnswerBytesMax } = this.run.services.limits
    return Math.min(chatAnswerBytesMax, answerBytesBase + this.maxTokens * answerBytesPerTokenMax)
  }

  /** The most bytes that a stream may have, by what the hold pays for. */
  get streamBytesMax(): number {
    const { streamBytesBase, streamBytesPerTokenMax, streamBytesMax } = this.run.services.limits
    return Math.min(streamBytesMax, streamBytesBase + this.maxTokens * streamBytesPerTokenMax)
  }

  /** Writes the request for a provider, again when it speaks another dialect than the last one. */
  make(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    const { provider } = route
    const form = formKey(provider)
    if (this.builder === undefined || this.form !== form) this.builder = this.write(provider)
    this.form = form
    this.outputFromTotal = provider.outputFromTotal === true
    const asked = this.builder.make(route, this.maxTokens)
    return postRequest(provider, asked, this.run.services.limits, totalTimeoutMs, fresh)
  }

  private write(provider: Provider): ProviderRequestBuilder {
    this.dialect = provider.dialect
    const { source, admitted, request } = this.order
    const { codec, leavesOut } = this
    const printed = source.print(provider, codec, admitted.model, leavesOut)
    return codec.ask(request, this.run.exchange.id, admitted.model, printed)
  }
}
