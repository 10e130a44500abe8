import type { Route } from '../../catalog/pricedItem.ts'
import { AnswerBody } from '../../upstream/answerBody.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { BufferedAnswer, BufferedPlan } from './operation.ts'
import { UnitRun } from './unitRun.ts'

/** A request whose answer comes in one piece. */
export class BufferedRun extends UnitRun<BufferedPlan> {
  private readonly body = new AnswerBody()
  private answer: BufferedAnswer | undefined

  override onAttempt(route: Route): void {
    super.onAttempt(route)
    this.body.clear()
  }

  protected answerBegins(headers: UpstreamHeaders): void {
    if (headers.unreadable === true) this.attempts?.reject(refusalOfError(null))
  }

  onData(bytes: Buffer): void {
    if (this.ending) return
    this.noteFirstByte()
    if (!this.body.add(bytes, this.services.limits.responseBodyBytesMax)) this.attempts?.reject(refusalOfError(null))
  }

  onEnd(): void {
    if (this.ending) return
    const answer = this.plan.answer(this.body.take())
    if ('rejected' in answer) {
      this.attempts?.reject(answer.rejected)
      return
    }
    this.attempts?.commit()
    this.answer = answer
    this.settle('ok', answer.bill, this.detached ? 'client_gone' : null)
  }

  onBroken(): void {
    // The commit is the last thing that happens to an answer in one piece, so nothing can break after it.
  }

  onSettled(chargedUnits: number): void {
    this.close()
    if (this.answer === undefined) return
    const body = this.answer.body(this.receipt(chargedUnits))
    this.exchange.answer(200, this.answer.contentType, body, ['x-cost-units', String(chargedUnits)])
  }

  onSettleDelayed(): void {
    this.close()
    if (this.answer !== undefined) this.exchange.answer(200, this.answer.contentType, this.answer.body(''))
  }

  protected billOfPart(): Bill {
    return this.plan.billUnseen
  }
}
