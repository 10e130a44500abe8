import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { WholeAnswer } from '../../dialects/shared/codec.ts'
import { contextWords } from '../../dialects/shared/contextWords.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { type CutMembers, scanBounds } from '../../json/answerScan.ts'
import { type Exchange, JSON_TYPE } from '../../server/exchange.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Outcome } from '../run/outcome.ts'
import type { ProviderCall } from '../run/providerCall.ts'
import { Run, type RunListener } from '../run/run.ts'
import type { RunServices } from '../run/services.ts'
import { WholeCall, type WholeListener } from '../run/wholeCall.ts'
import { leastPromptTokens } from './admit.ts'
import { billOf, isWhole, NOTHING_PRODUCED, settleUsed } from './chatBill.ts'
import { droppedHeader } from './droppedHeader.ts'
import { type ChatOrder, meteredOf } from './order.ts'
import { ProviderRequests } from './providerRequests.ts'

/** Of a choice, and of its message, in the OpenAI dialect. */
const CUT: CutMembers = new Map([
  [3, new Set(['logprobs'])],
  [4, new Set(['images', 'audio'])],
])

/** A chat request that is answered in one piece. */
export class BodyRun implements RunListener, WholeListener {
  private readonly run: Run
  private readonly call: ProviderCall
  private readonly requests: ProviderRequests
  private answer: WholeAnswer | undefined

  constructor(exchange: Exchange, principal: Principal, order: ChatOrder, services: RunServices) {
    this.run = new Run(exchange, principal, meteredOf(order), services, this)
    this.call = new WholeCall(this.run, this, () => this.requests.answerBytesMax, scanBounds(services.limits, CUT)).call
    this.requests = new ProviderRequests(this.run, order)
  }

  get outputTokensMax(): number {
    return this.requests.maxTokens
  }

  start(): void {
    this.run.start()
  }

  serve(heldUnits: number, lockUnits: number): void {
    this.requests.grant(heldUnits, lockUnits)
    this.call.start()
  }

  makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    return this.requests.make(route, totalTimeoutMs, fresh)
  }

  onWhole(body: AnswerJson): void {
    const answer = this.requests.codec.answer(body, this.requests.answerContext)
    if ('rejected' in answer) {
      this.call.reject(answer.rejected)
      return
    }
    const { usage, outputBytes } = answer
    this.call.commit(outputBytes)
    this.answer = answer
    const isCounted = !isWhole(usage) || this.run.route?.registered !== undefined
    const written = isCounted ? answer.written() : undefined
    const produced = { usage, outputFrames: 1, outputBytes, framesAtUsage: 1 }
    settleUsed(this.run, this.requests, produced, 'ok', this.call.detached ? 'client_gone' : null, written)
  }

  // Providers bill an answer in one piece even when the client has disconnected, so it is read to its end.
  onGone(): void {
    if (!this.call.detach()) this.run.leave(this.billOfPart())
  }

  onRefused(error: GatewayError): void {
    const { admitted, request, surface } = this.requests.order
    this.run.refuse(contextWords(error, surface.endpoint, leastPromptTokens(request), admitted.model.context))
  }

  onCut(): void {
    this.run.cutUnanswered()
  }

  onSettled(outcome: Outcome, chargedUnits: number): void {
    if (this.answer === undefined) return
    const body = this.answer.text(outcome.bill.usage, outcome.receipt(chargedUnits))
    const headers = ['x-cost-units', String(outcome.costUnits(chargedUnits)), ...droppedHeader(this.run, this.requests.order)]
    this.run.exchange.answer(200, JSON_TYPE, body, headers)
  }

  onSettleDelayed({ bill }: Outcome): void {
    if (this.answer !== undefined) this.run.exchange.answer(200, JSON_TYPE, this.answer.text(bill.usage, ''))
  }

  billOfPart(): Bill {
    return billOf(this.requests, NOTHING_PRODUCED)
  }
}
