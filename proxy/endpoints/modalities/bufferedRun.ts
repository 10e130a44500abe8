import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { findMembers } from '../../json/findMembers.ts'
import type { BodyLease, Exchange, HeaderList } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import { sharedBuffer } from '../largeBodies/sharedBytes.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import type { ProviderCall } from '../run/providerCall.ts'
import { Run, type RunListener } from '../run/run.ts'
import { sendParts } from '../run/sendParts.ts'
import type { RunServices } from '../run/services.ts'
import { WholeCall, type WholeListener } from '../run/wholeCall.ts'
import { type Members, membersOf } from './members.ts'
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
    const { reading } = this.plan
    const { large, limits } = this.run.services
    const elsewhere = large.of(body.bytes, 'provider')
    if (elsewhere === undefined) {
      const { rest } = body
      this.read(membersOf(rest, findMembers(rest, reading, limits)), body)
    } else {
      const found = elsewhere.run('members', { reading, cuts: body.cuts })
      this.call.later(found, ({ content, rest }) => this.read(membersOf(sharedBuffer(rest), content), body))
    }
  }

  private read(members: Members | Rejected, body: AnswerJson): void {
    const answer = 'rejected' in members ? members : this.plan.answer(members, body, this.run.services.large)
    if (answer instanceof Promise) this.call.later(answer, (read) => this.take(read))
    else this.take(answer)
  }

  private take(answer: BufferedAnswer | Rejected): void {
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
    this.send(outcome.receipt(chargedUnits), ['x-cost-units', String(chargedUnits)])
  }

  onSettleDelayed(): void {
    this.send('')
  }

  private send(receipt: string, headers?: HeaderList): void {
    if (this.answer === undefined) return
    const { exchange } = this.run
    const body = this.answer.body(receipt)
    if (typeof body === 'string') exchange.answer(200, this.answer.contentType, body, headers)
    else sendParts(exchange, this.answer.contentType, body, headers)
  }

  onDone(): void {
    this.upload?.release()
  }

  billOfPart(): Bill {
    return this.plan.billUnseen
  }
}
