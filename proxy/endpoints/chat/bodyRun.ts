import { GatewayError } from '../../../control/contract/errors.ts'
import type { Route } from '../../catalog/catalog.ts'
import { refusalOfError } from '../../upstream/dialects/openaiErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport.ts'
import { NO_BILL } from '../run/bill.ts'
import type { WholeAnswer } from './codec.ts'
import { ChatRun } from './run.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** A chat request that is answered in one piece. */
export class BodyRun extends ChatRun {
  private pieces: Buffer[] = []
  private bytes = 0
  private answer: WholeAnswer | undefined
  private detached = false

  onData(bytes: Buffer): void {
    if (this.ending) return
    this.noteFirstByte()
    this.bytes += bytes.length
    if (this.bytes > this.services.limits.responseBodyBytesMax) {
      this.attempts?.reject(refusalOfError(null))
      return
    }
    this.pieces.push(Buffer.from(bytes))
  }

  onEnd(): void {
    if (this.ending) return
    const body = this.pieces.length === 1 ? this.pieces[0] : Buffer.concat(this.pieces)
    this.pieces = []
    const answer = this.codec.answer(body, this.answerContext)
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

  // Providers bill an answer in one piece whether or not anybody waits for it, so it is read to its end.
  onGone(): void {
    if (this.ending) return
    const { counters } = this.services.metrics
    // Before the hold is answered there is nothing to end yet; its answer finds the client gone.
    if (this.attempts === undefined) return
    if (counters.detached < this.services.limits.detachedRequestsMax) {
      counters.detached++
      this.detached = true
    } else {
      this.attempts.cancel()
      this.settle('partial', this.billOfPart(), 'client_gone')
    }
  }

  cut(): void {
    if (this.ending) return
    this.attempts?.cancel()
    const fault = new GatewayError('gateway_restarting')
    if (this.attempts === undefined) this.ending = true
    else this.settle('cut', NO_BILL, fault.code)
    this.failWith(fault)
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

  protected override close(): void {
    if (this.detached) this.services.metrics.counters.detached--
    this.detached = false
    super.close()
  }

  override onAttempt(route: Route): void {
    super.onAttempt(route)
    this.pieces = []
    this.bytes = 0
  }

  protected answerBegins(headers: UpstreamHeaders): void {
    // The request asked for plain bytes; a provider that compresses all the same cannot be read.
    const encoding = headers.get('content-encoding')?.toLowerCase() ?? 'identity'
    if (encoding !== 'identity') this.attempts?.reject(refusalOfError(null))
  }
}
