import type { Route } from '../../catalog/pricedItem.ts'
import type { WholeAnswer } from '../../dialects/shared/codec.ts'
import { JSON_TYPE } from '../../server/exchange.ts'
import { AnswerBody } from '../../upstream/answerBody.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport/transport.ts'
import { ChatRun } from './run.ts'

/** A chat request that is answered in one piece. */
export class BodyRun extends ChatRun {
  private readonly body = new AnswerBody()
  private answer: WholeAnswer | undefined

  onData(bytes: Buffer): void {
    if (this.ending) return
    this.noteFirstByte()
    if (!this.body.add(bytes, this.services.limits.responseBodyBytesMax)) this.attempts?.reject(refusalOfError(null))
  }

  onEnd(): void {
    if (this.ending) return
    const answer = this.codec.answer(this.body.take(), this.answerContext)
    if ('rejected' in answer) {
      this.attempts?.reject(answer.rejected)
      return
    }
    this.attempts?.commit()
    this.answer = answer
    this.outputFrames = 1
    this.outputBytes = answer.outputBytes
    const written = answer.usage === null ? answer.written() : undefined
    this.settleUsed('ok', answer.usage, false, this.detached ? 'client_gone' : null, written)
  }

  onBroken(): void {
    // The commit is the last thing that happens to an answer in one piece, so nothing can break after it.
  }

  onSettled(chargedUnits: number): void {
    this.close()
    if (this.answer === undefined) return
    const body = this.answer.text(this.bill.usage, this.receipt(chargedUnits))
    this.exchange.answer(200, JSON_TYPE, body, ['x-cost-units', String(chargedUnits)])
  }

  onSettleDelayed(): void {
    this.close()
    if (this.answer !== undefined) this.exchange.answer(200, JSON_TYPE, this.answer.text(this.bill.usage, ''))
  }

  override onAttempt(route: Route): void {
    super.onAttempt(route)
    this.body.clear()
  }

  protected answerBegins(headers: UpstreamHeaders): void {
    if (headers.unreadable === true) this.attempts?.reject(refusalOfError(null))
  }
}
