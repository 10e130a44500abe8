import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { BodyLease, Exchange } from '../../server/exchange.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import type { ProviderCall } from '../run/providerCall.ts'
import { Run, type RunListener } from '../run/run.ts'
import type { RunServices } from '../run/services.ts'
import { WholeCall, type WholeListener } from '../run/wholeCall.ts'
import type { BufferedAnswer, BufferedPlan } from './operation.ts'
import { unitRequest } from './unitRequest.ts'

/** A request whose answer is buffered and sent in one piece. */
export class BufferedRun implements RunListener, WholeListener {
  private readonly run: Run
  private readonly call: ProviderCall
  private readonly plan: BufferedPlan
  private readonly upload: BodyLease | undefined
  private answer: BufferedAnswer | undefined

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: BufferedPlan, services: RunServices) {
    this.run = new Run(exchange, principal, metered, services, this)
    this.call = new WholeCall(this.run, this, () => plan.answerBytesMax, plan.answerBounds).call
    this.plan = plan
    // Failover may send the file to another route after its client has disconnected.
    this.upload = exchange.takeBody()
  }

  start(): void {
    this.run.start()
  }

  serve(): void {
    this.call.start()
  }

  makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    return unitRequest(this.run, this.plan, route, totalTimeoutMs, fresh)
  }

  onWhole(body: AnswerJson): void {
    const answer = this.plan.answer(body)
    if ('rejected' in answer) {
      this.call.reject(answer.rejected)
      return
    }
    this.call.commit()
    this.answer = answer
    this.run.settle('ok', answer.bill, this.call.detached ? 'client_gone' : null)
  }

  // Providers bill an answer in one piece even when the client has disconnected, so it is read to its end.
  onGone(): void {
    if (!this.call.detach()) this.run.leave(this.billOfPart())
  }

  onCut(): void {
    this.run.cutUnanswered()
  }

  onSettled(outcome: Outcome, chargedUnits: number): void {
    if (this.answer === undefined) return
    const { contentType } = this.answer
    const body = this.answer.body(outcome.receipt(chargedUnits))
    this.run.exchange.answer(200, contentType, body, ['x-cost-units', String(chargedUnits)])
  }

  onSettleDelayed(): void {
    if (this.answer !== undefined) this.run.exchange.answer(200, this.answer.contentType, this.answer.body(''))
  }

  onDone(): void {
    this.upload?.release()
  }

  billOfPart(): Bill {
    return this.plan.billUnseen
  }
}
