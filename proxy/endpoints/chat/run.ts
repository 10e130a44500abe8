import type { Dialect } from '../../../contract/catalog/catalog.ts'
import type { GatewayError } from '../../../contract/errors/errors.ts'
import { chargeUnits, type TokenUsage } from '../../../contract/money/charge.ts'
import { estimateUsage } from '../../../contract/money/estimate.ts'
import type { Principal } from '../../access/principal.ts'
import { grantedOutputTokens } from '../../admission/holdSize.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { AnswerContext, ChatCodec, ChatSurface, ProviderRequestBuilder } from '../../dialects/shared/codec.ts'
import type { Exchange } from '../../server/exchange.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import { DetachableRun } from '../run/detachableRun.ts'
import type { RunServices } from '../run/services.ts'
import type { Admitted } from './admit.ts'
import type { ChatSource } from './source.ts'

/** A chat request, whatever format its client and its provider speak. */
export abstract class ChatRun extends DetachableRun {
  protected readonly request: ChatFields
  protected readonly surface: ChatSurface
  protected outputFrames = 0
  protected outputBytes = 0

  private readonly admitted: Admitted
  private dialect: Dialect = 'openai'
  private readonly source: ChatSource
  private ask: ProviderRequestBuilder | undefined
  private maxTokens = 0

  constructor(
    exchange: Exchange,
    principal: Principal,
    request: ChatFields,
    admitted: Admitted,
    surface: ChatSurface,
    services: RunServices,
    source: ChatSource,
  ) {
    const { model, routes, size } = admitted
    const { wantUnits, leastUnits } = size
    const { endpoint } = surface
    super(exchange, principal, { endpoint, model, routes, wantUnits, leastUnits, streamed: request.stream }, services)
    this.request = request
    this.admitted = admitted
    this.surface = surface
    this.source = source
  }

  protected override held(heldUnits: number): void {
    this.maxTokens = grantedOutputTokens(this.admitted.size, heldUnits)
  }

  protected makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    const { provider } = route
    if (this.ask === undefined || this.dialect !== provider.dialect) {
      this.dialect = provider.dialect
      const printed = this.source.print(this.dialect, this.codec, this.model)
      this.ask = this.codec.ask(this.request, this.requestId, this.model, printed)
    }
    return postRequest(provider, this.ask.make(route, this.maxTokens), this.services.limits, totalTimeoutMs, fresh)
  }

  /** The codec for the provider that is being asked. */
  protected get codec(): ChatCodec {
    const codec = this.surface.codecs[this.dialect]
    if (codec === undefined) throw new Error(`${this.surface.endpoint} is not served over ${this.dialect}`)
    return codec
  }

  protected get answerContext(): AnswerContext {
    const { requestId, model, request, exchange, services } = this
    return { requestId, startedAtMs: exchange.startedAtMs, model, request, limits: services.limits }
  }

  protected override faultEvents(fault: GatewayError): string {
    return this.surface.faultEvents(fault)
  }

  protected billOfPart(): Bill {
    return this.billOf(null)
  }

  /**
   * What a usage costs.
   * @param usage null when the provider reported none, which has it estimated
   * @param outputFollowed the usage was reported before the last of the output
   */
  protected billOf(usage: TokenUsage | null, outputFollowed = false): Bill {
    const billed = this.billedUsage(usage, outputFollowed)
    const source = usage === null || outputFollowed ? 'estimated' : 'reported'
    return { units: chargeUnits(this.admitted.rates, billed), usage: billed, quantity: 0, source }
  }

  /**
   * Ends the request with what was used. Where the provider has not reported it, the tokenizer is asked first, for as
   * long as a client may wait.
   * @param outputFollowed the usage was reported before the last of the output
   * @param written what the model wrote, where it was kept
   */
  protected settleUsed(
    status: 'ok' | 'partial',
    usage: TokenUsage | null,
    outputFollowed: boolean,
    errorCode: string | null,
    written?: string,
  ): void {
    if (usage !== null) {
      this.settle(status, this.billOf(usage, outputFollowed), errorCode)
      return
    }
    this.ending = true
    this.countUsage(written).then(
      (counted) => this.settle(status, counted, errorCode),
      (error: unknown) => this.onCrashed(error),
    )
  }

  private async countUsage(written: string | undefined): Promise<Bill> {
    const bill = this.billOf(null)
    const { text, extraTokens } = await this.source.prompt(this.model.imageTokens)
    const counts = await this.services.tokens.countSoon(written === undefined ? [text] : [text, written])
    if (counts === null) return bill
    const [input = 0, output = bill.usage.output] = counts
    const usage = { ...bill.usage, input: input + extraTokens, output }
    return { ...bill, units: chargeUnits(this.admitted.rates, usage), usage }
  }

  // A report that output followed says too little of it, but no less than it says.
  private billedUsage(usage: TokenUsage | null, outputFollowed: boolean): TokenUsage {
    if (usage === null) return this.estimate()
    return outputFollowed ? { ...usage, output: Math.max(usage.output, this.estimate().output) } : usage
  }

  private estimate(): TokenUsage {
    const { prompt } = this.request
    return estimateUsage({
      promptBytes: prompt.textBytes,
      promptExtraTokens: prompt.images * this.model.imageTokens,
      frames: this.outputFrames,
      outputBytes: this.outputBytes,
    })
  }
}
