import type { GatewayError } from '../../../contract/errors/errors.ts'
import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import { isWhole } from '../../../contract/money/usageReports.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { WholeAnswer } from '../../dialects/shared/codec.ts'
import { joinedBody } from '../../dialects/shared/joinedBody.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { type CutMembers, scanBounds } from '../../json/answerScan.ts'
import { type Exchange, type HeaderList, JSON_TYPE } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Outcome } from '../run/outcome.ts'
import type { ProviderCall } from '../run/providerCall.ts'
import { Run } from '../run/run.ts'
import type { RunListener } from '../run/runListener.ts'
import { sendParts } from '../run/sendParts.ts'
import type { RunServices } from '../run/services.ts'
import { WholeCall, type WholeListener } from '../run/wholeCall.ts'
import { billOf, NOTHING_PRODUCED, settleUsed } from './chatBill.ts'
import { readLarge } from './largeAnswer.ts'
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
    const { services, principal, asked: route } = this.run
    const large = services.large.of(body.bytes, 'provider', principal.accountId)
    if (large === undefined) this.take(this.requests.codec.answer(body, this.requests.answerContext))
    else {
      const isCounted = route?.registered !== undefined
      this.call.later(readLarge(large, this.requests.answerInput(body.cuts, isCounted)), (answer) => this.take(answer))
    }
  }

  protected take(answer: WholeAnswer | Rejected): void {
    if ('rejected' in answer) {
      this.call.reject(answer.rejected)
      return
    }
    const { usage, outputBytes } = answer
    this.call.commit(outputBytes)
    this.answer = answer
    const isCounted = !isWhole(usage) || this.run.asked?.registered !== undefined
    const written = isCounted ? answer.written() : undefined
    const produced = { usage, outputFrames: 1, outputBytes, framesAtUsage: 1 }
    const errorCode = this.call.detached ? CLIENT_GONE : null
    settleUsed(this.run, this.requests, produced, { status: 'ok', errorCode }, written)
  }

  // Providers bill an answer in one piece even when the client has disconnected, so it is read to its end.
  onGone(): void {
    if (!this.call.detach()) this.run.leave(this.billOfPart())
  }

  fallBack(error: GatewayError): boolean | Promise<void> {
    return this.requests.fallBack(error)
  }

  onRefused(error: GatewayError): void {
    this.run.refuse(this.requests.told(error))
  }

  onCut(): void {
    this.run.cutUnanswered()
  }

  onSettled(outcome: Outcome, chargedUnits: number): void {
    const costUnits = String(outcome.costUnits(chargedUnits))
    const headers = ['x-cost-units', costUnits, ...this.requests.headers]
    this.send(outcome, outcome.receipt(chargedUnits), headers)
  }

  onSettleDelayed(outcome: Outcome): void {
    this.send(outcome, '')
  }

  private send({ bill }: Outcome, receipt: string, headers?: HeaderList): void {
    if (this.answer === undefined) return
    const { exchange } = this.run
    const body = joinedBody([this.answer.head(), this.requests.codec.end(bill.usage, receipt)])
    if (typeof body === 'string') exchange.answer(200, JSON_TYPE, body, headers)
    else sendParts(exchange, JSON_TYPE, body, headers)
  }

  billOfPart(): Bill {
    return billOf(this.requests, NOTHING_PRODUCED)
  }
}
