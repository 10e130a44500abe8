import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { BodyLease, DrainListener, Exchange } from '../../server/exchange.ts'
import { errorEvent } from '../../sse/errorEvent.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import type { CallListener, ProviderCall } from '../run/providerCall.ts'
import { Run, type RunListener } from '../run/run.ts'
import type { RunServices } from '../run/services.ts'
import { MediaEvents } from './mediaEvents.ts'
import type { EventPlan } from './operation.ts'
import { unitRequest } from './unitRequest.ts'

/**
 * A request whose answer is events that are relayed as they arrive; the receipt is a comment at their end. The events that came
 * decide the bill, so that an answer whose client has disconnected is read to its end.
 */
export class EventRun implements RunListener, CallListener, DrainListener {
  private readonly run: Run
  private readonly call: ProviderCall
  private readonly plan: EventPlan
  private readonly upload: BodyLease | undefined
  private events: MediaEvents
  private bytesLeft = 0
  /** The client has received the beginning of the answer. */
  private begun = false
  /** The error that is sent to the client before the stream ends. */
  private fault: GatewayError | null = null

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: EventPlan, services: RunServices) {
    this.run = new Run(exchange, principal, metered, services, this)
    this.call = this.run.callFor(this)
    this.plan = plan
    this.events = new MediaEvents(plan, services.limits)
    // Failover may send it to another route after its client has disconnected.
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

  onAttempt(): void {
    this.events = new MediaEvents(this.plan, this.run.services.limits)
    this.bytesLeft = this.plan.answerBytesMax
  }

  onAnswer(headers: UpstreamHeaders): void {
    if (headers.unreadable === true) this.call.reject(refusalOfError(null))
  }

  onData(bytes: Buffer): void {
    this.bytesLeft -= bytes.length
    if (this.bytesLeft < 0) this.brokeOff()
    else this.read((events) => events.push(bytes, this.run.services.outgoing))
  }

  onEnd(): void {
    this.read((events) => events.finish(this.run.services.outgoing))
    if (this.events.whole || this.events.broken) return
    if (this.begun) this.interrupt()
    else this.call.reject(refusalOfError(null))
  }

  onBroken(): void {
    this.interrupt()
  }

  onDrain(): void {
    this.call.resume()
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

  onDone(): void {
    this.upload?.release()
  }

  billOfPart(): Bill {
    return this.plan.billOf(this.events.ends)
  }

  faultEvents(fault: GatewayError): string {
    return errorEvent(fault)
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
    const { exchange, services } = this.run
    if (!this.begun) this.begin()
    if (exchange.gone) return
    services.metrics.counters.chunksOut++
    if (exchange.write(bytes)) return
    this.call.pause()
    exchange.setDrainListener(this)
  }

  private begin(): void {
    const { exchange, services } = this.run
    this.begun = true
    this.call.commit()
    if (exchange.gone) return
    services.metrics.counters.streams++
    exchange.beginStream()
  }

  private complete(): void {
    this.run.settle('ok', this.billOfPart(), this.run.exchange.gone ? 'client_gone' : null)
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
