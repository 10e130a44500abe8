import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import type { Principal } from '../../access/principal.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { findMembers } from '../../json/findMembers.ts'
import type { Exchange, HeaderList } from '../../server/exchange.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import { sharedBuffer } from '../largeBodies/sharedBytes.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import type { ProviderCall } from '../run/providerCall.ts'
import { sendParts } from '../run/sendParts.ts'
import type { RunServices } from '../run/services.ts'
import { WholeCall, type WholeListener } from '../run/wholeCall.ts'
import { type Members, membersOf } from './members.ts'
import type { BufferedAnswer, BufferedPlan } from './operation.ts'
import { UnitRun } from './unitRun.ts'

/** A request whose answer is buffered and sent in one piece. */
export class BufferedRun extends UnitRun<BufferedPlan> implements WholeListener {
  protected readonly call: ProviderCall
  private answer: BufferedAnswer | undefined

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: BufferedPlan, services: RunServices) {
    super(exchange, principal, metered, plan, services)
    this.call = new WholeCall(this.run, this, () => plan.answerBytesMax, plan.answerBounds).call
  }

  onWhole(body: AnswerJson): void {
    const { reading } = this.plan
    const { services, principal } = this.run
    const { large, limits } = services
    const elsewhere = large.of(body.bytes, 'provider', principal.accountId)
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
    this.run.settle('ok', answer.bill, this.call.detached ? CLIENT_GONE : null)
  }

  // Providers bill an answer in one piece even when the client has disconnected, so it is read to its end.
  onGone(): void {
    if (!this.call.detach()) this.run.leave(this.billOfPart())
  }

  onCut(): void {
    this.run.cutUnanswered()
  }

  onSettled(outcome: Outcome, chargedUnits: number): void {
    this.send(outcome.receipt(chargedUnits), ['x-cost-units', String(chargedUnits), ...this.dropped])
  }

  onSettleDelayed(): void {
    this.send('', this.dropped)
  }

  private send(receipt: string, headers: HeaderList): void {
    if (this.answer === undefined) return
    const { exchange } = this.run
    const body = this.answer.body(receipt)
    if (typeof body === 'string') exchange.answer(200, this.answer.contentType, body, headers)
    else sendParts(exchange, this.answer.contentType, body, headers)
  }

  billOfPart(): Bill {
    return this.plan.billUnseen
  }
}
