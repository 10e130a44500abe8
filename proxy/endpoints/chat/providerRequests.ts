import type { Dialect } from '../../../contract/catalog/dialects.ts'
import type { Span } from '../../../contract/std/span.ts'
import { grantedOutputTokens } from '../../admission/holdSize.ts'
import type { Provider, Route } from '../../catalog/pricedItem.ts'
import {
  type AnswerContext,
  type ChatCodec,
  codecOf,
  type ProviderRequestBuilder,
} from '../../dialects/shared/codec.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { AnswerInput } from '../largeBodies/largeTasks.ts'
import type { RunContext } from '../run/context.ts'
import type { GrantedOrder } from './chatBill.ts'
import type { ChatOrder } from './order.ts'
import { formKey } from './source.ts'

/** The requests to providers for a chat request, and the readers of their answers: one codec for each dialect. */
export class ProviderRequests implements GrantedOrder {
  private readonly run: RunContext
  readonly order: ChatOrder
  private dialect: Dialect = 'openai'
  private builder: ProviderRequestBuilder | undefined
  private form = ''
  private outputFromTotal = false
  /** Output tokens that the hold pays for. */
  maxTokens = 0

  constructor(run: RunContext, order: ChatOrder) {
    this.run = run
    this.order = order
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
    const { size, lock } = this.order.admitted
    this.maxTokens = lock?.hold.outputTokens(heldUnits, lockUnits) ?? grantedOutputTokens(size, heldUnits)
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
    const { codec } = this
    const printed = source.print(provider, codec, admitted.model)
    return codec.ask(request, this.run.exchange.id, admitted.model, printed)
  }
}
