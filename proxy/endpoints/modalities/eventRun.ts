import { GatewayError } from '../../../contract/errors/errors.ts'
import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import { errorEvent } from '../../sse/errorEvent.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Outcome } from '../run/outcome.ts'
import { StreamBody } from '../run/streamBody.ts'
import { MediaEvents } from './mediaEvents.ts'
import type { EventPlan } from './operation.ts'
import { RelayedRun } from './relayedRun.ts'

/**
 * A request whose answer is events that are relayed as they arrive; the receipt is a comment at their end. The events that came
 * decide the bill, so that an answer whose client has disconnected is read to its end.
 */
export class EventRun extends RelayedRun<EventPlan> {
  private events = this.newEvents()
  private body: StreamBody | undefined
  /** The error that is sent to the client before the stream ends. */
  private fault: GatewayError | null = null

  override onAttempt(): void {
    super.onAttempt()
    this.body = undefined
    this.events = this.newEvents()
  }

  onAnswer(headers: UpstreamHeaders): void {
    const { eventBytesMax, wholeEvents } = this.plan
    const limits = { ...this.run.services.limits, eventBytesMax, eventParsedBytesMax: eventBytesMax }
    this.body = new StreamBody(headers.get('content-type'), limits, wholeEvents)
    if (headers.unreadable === true) this.call.reject(refusalOfError(null))
  }

  onData(bytes: Buffer): void {
    this.bytesLeft -= bytes.length
    const events = this.bytesLeft < 0 ? null : (this.body?.push(bytes) ?? null)
    if (events !== null) this.push(events)
    else if (this.bytesLeft < 0 || this.body?.unusable === true) this.brokeOff()
  }

  onEnd(): void {
    const { body, events } = this
    if (body === undefined) return
    const rest = body.end()
    if (rest.length > 0) this.push(rest)
    if (this.events !== events || isOver(events)) return
    this.read(() => events.finish(this.run.services.outgoing))
    if (isOver(events)) return
    // A provider may block some of the images that were asked for.
    if (this.begun && body.isWhole) this.complete()
    else if (this.begun) this.interrupt()
    else this.call.reject(refusalOfError(null))
  }

  onBroken(): void {
    this.interrupt()
  }

  onGone(): void {
    if (this.call.detach()) this.call.resume()
    else this.run.leave(this.plan.billUnseen)
  }

  onCut(): void {
    if (this.run.phase !== 'committed') {
      this.run.cutUnanswered()
      return
    }
    this.fault = new GatewayError('stream_cut')
    this.run.cutOff(this.fault.code)
  }

  onSettled(outcome: Outcome, chargedUnits: number): void {
    this.finish(`: receipt ${outcome.receipt(chargedUnits)}\n\n`)
  }

  onSettleDelayed(): void {
    this.finish('')
  }

  billOfPart(): Bill {
    return this.plan.billOf(this.events.ends)
  }

  faultEvents(fault: GatewayError): string {
    return errorEvent(fault)
  }

  private newEvents(): MediaEvents {
    return new MediaEvents(this.plan, this.run.services.limits)
  }

  private push(bytes: Buffer): void {
    this.read((events) => events.push(bytes, this.run.services.outgoing))
  }

  private read(step: (events: MediaEvents) => void): void {
    const { events } = this
    const { outgoing } = this.run.services
    outgoing.clear()
    step(events)
    if (outgoing.length > 0) this.send(outgoing.view())
    if (events.whole) this.complete()
    else if (events.broken) this.brokeOff()
  }

  private send(bytes: Buffer): void {
    if (!this.begun) this.begin()
    if (!this.run.exchange.gone) this.relay(bytes)
  }

  private begin(): void {
    const { exchange, services } = this.run
    this.begun = true
    this.call.commit()
    if (exchange.gone) return
    services.metrics.counters.streams++
    exchange.beginStream(this.dropped)
  }

  private complete(): void {
    this.run.settle('ok', this.billOfPart(), this.run.exchange.gone ? CLIENT_GONE : null)
  }

  private brokeOff(): void {
    if (this.begun) {
      this.call.breakOff('unusable answer')
      this.interrupt()
    } else this.call.reject(refusalOfError(this.events.error))
  }

  private interrupt(): void {
    this.fault = new GatewayError('stream_interrupted')
    this.run.services.metrics.noteError('stream_interrupted')
    this.run.settle('partial', this.billOfPart(), 'stream_interrupted')
  }

  private finish(receipt: string): void {
    const { exchange } = this.run
    if (!this.begun || exchange.gone) return
    const fault = this.fault === null ? '' : errorEvent(this.fault)
    exchange.end(Buffer.from(fault + receipt))
  }
}

function isOver({ whole, broken }: MediaEvents): boolean {
  return whole || broken
}
