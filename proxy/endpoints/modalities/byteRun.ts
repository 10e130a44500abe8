import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import { ErrorBody } from '../../upstream/errorBody.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport/transport.ts'
import { type Bill, NO_BILL } from '../run/bill.ts'
import type { BytePlan } from './operation.ts'
import { RelayedRun } from './relayedRun.ts'

const NOTHING = Buffer.alloc(0)
const MEDIA_TYPE =
  /^(?:audio\/[a-z0-9.+-]{1,64}|application\/(?:octet-stream|ogg|x-wav|x-mpegurl)|binary\/octet-stream|video\/mp4)(?:\s*[;,].*)?$/i
const JSON_ANSWER = /^application\/(?:[a-z0-9.-]{1,64}\+)?json\b/i
/** The first bytes of JSON, and of no container of sound. */
const JSON_STARTS: ReadonlySet<number | undefined> = new Set([...'{[ \n\r\t'].map((start) => start.charCodeAt(0)))
const AUDIO_TYPE = /^audio\/[a-z0-9.+-]{1,64}/i

/**
 * A request whose answer is bytes that are relayed as they arrive. The provider bills by its input, so from the first byte
 * on the full price is due, however the answer ends.
 */
export class ByteRun extends RelayedRun<BytePlan> {
  private contentType = ''
  /** The answer broke off, which its client learns from a connection that breaks off too. */
  private broken = false
  /** JSON that the provider sends in place of an answer. */
  private fault: ErrorBody | undefined

  override onAttempt(): void {
    super.onAttempt()
    this.fault = undefined
  }

  onAnswer(headers: UpstreamHeaders): void {
    const type = headers.get('content-type') ?? 'application/octet-stream'
    if (headers.unreadable !== true && JSON_ANSWER.test(type)) {
      this.fault = new ErrorBody()
      return
    }
    if (headers.unreadable === true || !MEDIA_TYPE.test(type)) {
      this.call.reject(refusalOfError(null))
      return
    }
    this.contentType = AUDIO_TYPE.exec(type)?.[0].toLowerCase() ?? this.plan.contentType
  }

  onData(bytes: Buffer): void {
    if (!this.begun && !this.begin(bytes)) return
    this.bytesLeft -= bytes.length
    if (this.bytesLeft < 0) {
      this.call.breakOff('answer too long')
      this.onBroken()
      return
    }
    this.relay(bytes)
  }

  onEnd(): void {
    if (this.begun) this.run.settle('ok', this.plan.bill, null)
    else if (this.fault !== undefined) this.call.reject(this.fault.read())
    else this.call.reject(refusalOfError(null))
  }

  onBroken(): void {
    this.broken = true
    this.run.services.metrics.noteError('stream_interrupted')
    this.run.settle('partial', this.plan.bill, 'stream_interrupted')
  }

  // The first byte decides the cost: sound, or an error in its place. When too many requests already wait for that, it counts
  // as sound.
  onGone(): void {
    if (!this.begun && this.call.detach()) return
    if (this.fault === undefined) this.run.leave(this.plan.bill)
    else {
      this.call.cancel()
      this.run.settle('failed', NO_BILL, CLIENT_GONE)
    }
  }

  onCut(): void {
    if (this.run.phase !== 'committed') {
      this.run.cutUnanswered()
      return
    }
    this.broken = true
    this.run.cutOff('stream_cut')
  }

  onSettled(): void {
    this.finish()
  }

  onSettleDelayed(): void {
    this.finish()
  }

  billOfPart(): Bill {
    return this.plan.bill
  }

  /** @returns whether the client gets these bytes */
  private begin(bytes: Buffer): boolean {
    if (JSON_STARTS.has(bytes[0]) && !this.plan.samples) this.fault ??= new ErrorBody()
    if (this.fault !== undefined) {
      if (!this.fault.add(bytes)) this.call.reject(refusalOfError(null))
      return false
    }
    if (this.call.detached) {
      // The provider has taken the request, and no client waits for its answer.
      this.run.leave(this.plan.bill)
      return false
    }
    this.begun = true
    this.call.commit()
    this.run.services.metrics.counters.streams++
    const headers = ['x-cost-units', String(this.plan.bill.units), ...this.dropped]
    this.run.exchange.beginStream(headers, this.contentType)
    return true
  }

  private finish(): void {
    if (!this.begun) return
    if (this.broken) this.run.exchange.breakOff()
    else this.run.exchange.end(NOTHING)
  }
}
