import { chargeUnits, type TokenUsage } from '../../../control/contract/charge.ts'
import { GatewayError } from '../../../control/contract/errors.ts'
import { sluice } from '../../../control/contract/generated/messages.js'
import { type ReceiptStatus, receiptJson } from '../../../control/contract/receipt.ts'
import type { Principal } from '../../access/principal.ts'
import { grantedOutputTokens } from '../../admission/holdSize.ts'
import { type HoldWaiter, LOST_ANSWER } from '../../admission/holds.ts'
import type { EndingWaiter } from '../../admission/settlements.ts'
import type { Route } from '../../catalog/catalog.ts'
import { errorEvent } from '../../relay/errorEvent.ts'
import { estimateUsage } from '../../relay/estimate.ts'
import type { Exchange, GoneListener } from '../../server/exchange.ts'
import { type AttemptListener, Attempts } from '../../upstream/attempts.ts'
import type { TransportFailure, UpstreamHeaders } from '../../upstream/transport.ts'
import type { ActiveRun } from './activeRuns.ts'
import type { Admitted } from './admit.ts'
import { ChatForward } from './forward.ts'
import type { ChatRequest } from './request.ts'
import type { RunServices } from './services.ts'

const NO_USAGE: TokenUsage = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 }
const VOID = -1
/** The event that ends every stream. */
export const STREAM_END = 'data: [DONE]\n\n'

const STATUS = {
  ok: sluice.Status.OK,
  partial: sluice.Status.PARTIAL,
  failed: sluice.Status.FAILED,
  cut: sluice.Status.CUT,
} as const

const SOURCE = {
  none: sluice.UsageSource.NONE,
  reported: sluice.UsageSource.REPORTED,
  estimated: sluice.UsageSource.ESTIMATED,
} as const

/** How a request ended: what is charged is worked out from the usage, or nothing for `failed` and `cut`. */
interface Outcome {
  readonly status: keyof typeof STATUS
  /** Null when the provider reported none and the run has to estimate it. */
  readonly usage: TokenUsage | null
  /** The usage was reported before the last of the output. */
  readonly outputFollowed?: boolean
  readonly errorCode: string | null
}

/** The life of one chat request: hold, provider, settlement. How the answer is relayed is left to the two kinds. */
export abstract class ChatRun implements HoldWaiter, AttemptListener, EndingWaiter, GoneListener, ActiveRun {
  readonly requestId: string
  readonly principal: Principal
  readonly wantUnits: number
  readonly leastUnits: number
  readonly holdMeta: string
  activeIndex = -1

  protected readonly exchange: Exchange
  protected readonly request: ChatRequest
  protected readonly admitted: Admitted
  protected readonly services: RunServices
  protected attempts: Attempts | undefined
  protected outputFrames = 0
  protected outputBytes = 0
  protected headSeen = false
  /** The outcome is decided; nothing that arrives later changes it. */
  protected ending = false

  private readonly forward: ChatForward
  private heldUnits = 0
  /** On Redis's clock, as the book has it. */
  private heldAtMs = 0
  private provider = ''
  private firstByteMs = 0
  private outcome: Outcome | undefined
  private usage: TokenUsage = NO_USAGE
  private source: keyof typeof SOURCE = 'none'
  private clamped = false
  /** Fixed with the outcome, so that the client's receipt and the book's show the same. */
  private durationMs = 0

  constructor(
    exchange: Exchange,
    principal: Principal,
    request: ChatRequest,
    admitted: Admitted,
    services: RunServices,
  ) {
    this.exchange = exchange
    this.principal = principal
    this.request = request
    this.admitted = admitted
    this.services = services
    this.requestId = exchange.id
    this.wantUnits = admitted.size.wantUnits
    this.leastUnits = admitted.size.leastUnits
    const { model } = admitted
    this.holdMeta = `${model.id},chat,${model.sheet.version},${request.stream ? 1 : 0}`
    this.forward = new ChatForward(request, exchange.id, services.limits)
  }

  /** Takes the hold; everything else follows from its answer. */
  start(): void {
    this.services.active.add(this)
    this.exchange.setGoneListener(this)
    this.services.holds.take(this)
  }

  onHeld(heldUnits: number, heldAtMs: number): void {
    this.heldUnits = heldUnits
    this.heldAtMs = heldAtMs
    if (this.exchange.gone || this.ending) {
      this.end({ status: 'failed', usage: null, errorCode: 'client_gone' })
      return
    }
    this.forward.maxTokens = grantedOutputTokens(this.admitted.size, heldUnits)
    this.attempts = new Attempts({
      transport: this.services.transport,
      health: this.services.health,
      limits: this.services.limits,
      accountId: this.principal.accountId,
      routes: this.admitted.routes,
      makeRequest: (route, totalTimeoutMs, fresh) => this.forward.make(route, totalTimeoutMs, fresh),
      listener: this,
      onFault: this.services.onRouteFault,
    })
    this.services.metrics.noteOverhead(performance.now() - this.exchange.arrivedAt)
    this.attempts.start()
  }

  onHoldRefused(error: GatewayError): void {
    this.services.metrics.counters.holdsRefused++
    if (error.cause === LOST_ANSWER) this.settle(VOID, 'failed', error.code)
    this.close()
    this.failWith(error)
  }

  onAttempt(): void {
    this.headSeen = false
    this.provider = ''
  }

  onAnswer(route: Route, headers: UpstreamHeaders): void {
    this.headSeen = true
    this.provider = route.provider.id
    this.answerBegins(headers)
  }

  onRefused(error: GatewayError): void {
    if (this.ending) return
    this.end({ status: 'failed', usage: null, errorCode: error.code })
    this.failWith(error)
  }

  onCrashed(error: unknown): void {
    this.services.onCrash(error, this.requestId)
    this.attempts?.cancel()
    const fault = new GatewayError('internal_error')
    const status = this.exchange.begun ? 'partial' : 'failed'
    if (!this.ending) this.end({ status, usage: null, errorCode: fault.code })
    this.close()
    if (this.exchange.begun) this.exchange.end(Buffer.from(errorEvent(fault) + STREAM_END))
    else this.failWith(fault)
  }

  abstract onData(bytes: Buffer): void
  abstract onEnd(): void
  abstract onBroken(failure: TransportFailure): void
  abstract onGone(): void
  abstract cut(): void
  /** The outcome is in the ledger: the client gets the rest of its answer. */
  abstract onSettled(chargedUnits: number): void
  /** The ledger takes long: the client gets the rest of its answer without a receipt. */
  abstract onSettleDelayed(): void
  protected abstract answerBegins(headers: UpstreamHeaders): void

  protected noteFirstByte(): void {
    if (this.firstByteMs === 0) this.firstByteMs = Math.max(1, Date.now() - this.exchange.startedAtMs)
  }

  /** Decides the outcome, once. Charged outcomes tell the run when the ledger has accepted them. */
  protected end(outcome: Outcome): void {
    this.ending = true
    this.outcome = outcome
    if (outcome.status === 'failed' || outcome.status === 'cut') {
      this.settle(VOID, outcome.status, outcome.errorCode)
      return
    }
    this.usage = this.usageOf(outcome)
    const charge = chargeUnits(this.admitted.rates, this.usage)
    this.clamped = charge > this.heldUnits
    this.settle(Math.min(charge, this.heldUnits), outcome.status, outcome.errorCode)
  }

  /** The usage that the request is charged for. */
  protected get billedUsage(): TokenUsage {
    return this.usage
  }

  /** The receipt of the outcome as the ledger has accepted it. */
  protected receipt(chargedUnits: number): string {
    const { model } = this.admitted
    return receiptJson({
      requestId: this.requestId,
      status: (this.outcome?.status ?? 'failed') satisfies ReceiptStatus,
      model: model.id,
      endpoint: 'chat',
      sheetVersion: model.sheet.version,
      costUnits: chargedUnits,
      holdUnits: this.heldUnits,
      coinUsdUnits: model.sheet.coinUsdUnits,
      usage: this.usage,
      usageSource: this.source,
      clamped: this.clamped,
      streamed: this.request.stream,
      createdMs: this.heldAtMs,
      durationMs: this.durationMs,
      errorCode: this.outcome?.errorCode ?? null,
    })
  }

  /** The run needs nothing more of the process; it may be called more than once. */
  protected close(): void {
    this.services.active.remove(this)
  }

  protected failWith(error: GatewayError): void {
    this.services.metrics.noteError(error.row)
    this.exchange.fail(error)
  }

  // A report that output followed says too little of it, but no less than it says.
  private usageOf({ usage, outputFollowed = false }: Outcome): TokenUsage {
    this.source = usage === null || outputFollowed ? 'estimated' : 'reported'
    if (usage === null) return this.estimate()
    return outputFollowed ? { ...usage, output: Math.max(usage.output, this.estimate().output) } : usage
  }

  private estimate(): TokenUsage {
    const { prompt } = this.request
    return estimateUsage({
      promptBytes: prompt.textBytes,
      promptExtraTokens: prompt.images * this.admitted.model.imageTokens,
      frames: this.outputFrames,
      outputBytes: this.outputBytes,
    })
  }

  private settle(chargeUnits: number, status: keyof typeof STATUS, errorCode: string | null): void {
    const { counters } = this.services.metrics
    counters.ended[status]++
    if (this.clamped) counters.clamped++
    if (this.source === 'estimated') counters.estimated++
    if (chargeUnits > 0) counters.chargedUnits += chargeUnits
    const { principal } = this
    const settlement = this.settlementMessage(Math.max(0, chargeUnits), status, errorCode)
    this.services.settlements.end(
      {
        requestId: this.requestId,
        owner: this.services.owner,
        accountId: principal.accountId,
        keyId: principal.keyId,
        shard: principal.shard,
        chargeUnits,
        settlement,
      },
      principal,
      this,
    )
  }

  private settlementMessage(units: number, status: keyof typeof STATUS, errorCode: string | null): Uint8Array {
    const { model } = this.admitted
    const { usage } = this
    this.durationMs = Math.max(0, Date.now() - this.exchange.startedAtMs)
    return sluice.Settlement.encode({
      requestId: this.requestId,
      accountId: this.principal.accountId,
      keyId: this.principal.keyId,
      model: model.id,
      endpoint: 'chat',
      provider: this.provider,
      sheetVersion: model.sheet.version,
      status: STATUS[status],
      errorCode: errorCode ?? '',
      streamed: this.request.stream,
      holdUnits: this.heldUnits,
      chargeUnits: units,
      usage: {
        input: usage.input,
        cachedInput: usage.cachedInput,
        cacheWrite_5m: usage.cacheWrite5m,
        cacheWrite_1h: usage.cacheWrite1h,
        output: usage.output,
        reasoning: usage.reasoning,
      },
      usageSource: SOURCE[this.source],
      clamped: this.clamped,
      startedAtMs: this.exchange.startedAtMs,
      firstByteMs: this.firstByteMs,
      durationMs: this.durationMs,
    }).finish()
  }
}
