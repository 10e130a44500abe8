import { GatewayError } from '../../../contract/errors/errors.ts'
import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import { isWhole } from '../../../contract/money/usageReports.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { isPaid, type RelayStream, type StreamTail } from '../../dialects/shared/relayStream.ts'
import type { DrainListener, Exchange } from '../../server/exchange.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import { inUtf8 } from '../../sse/sseText.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Outcome } from '../run/outcome.ts'
import type { CallListener, ProviderCall } from '../run/providerCall.ts'
import { Run } from '../run/run.ts'
import type { RunListener } from '../run/runListener.ts'
import type { RunServices } from '../run/services.ts'
import { StreamBody } from '../run/streamBody.ts'
import { billOf, NOTHING_PRODUCED, settleUsed } from './chatBill.ts'
import { DeliveredText } from './deliveredText.ts'
import { type ChatOrder, meteredOf } from './order.ts'
import { ProviderRequests } from './providerRequests.ts'

const NOTHING = Buffer.alloc(0)

/** A streamed chat request: chunks are relayed as they arrive, the receipt and the end follow the settlement. */
export class StreamRun implements RunListener, CallListener, DrainListener {
  private readonly run: Run
  private readonly call: ProviderCall
  // Of the run, here too for the sake of every chunk.
  private readonly exchange: Exchange
  private readonly services: RunServices
  private readonly requests: ProviderRequests
  private stream: RelayStream | undefined
  private body: StreamBody | undefined
  /** The output to count; absent for routes of the catalog. */
  private delivered: DeliveredText | undefined
  private preamble: Buffer[] = []
  private preambleBytes = 0
  /** Bytes that the provider may still send. */
  private bytesLeft = 0
  /** The last of the answer, where it leaves in one write with the end of the stream. */
  private rest = NOTHING
  /** The client has received the beginning of the answer. */
  private begun = false
  /** The error that is sent to the client before the stream ends. */
  private fault: GatewayError | null = null

  constructor(exchange: Exchange, principal: Principal, order: ChatOrder, services: RunServices) {
    this.run = new Run(exchange, principal, meteredOf(order), services, this)
    this.call = this.run.callFor(this)
    this.exchange = exchange
    this.services = services
    this.requests = new ProviderRequests(this.run, order)
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

  onAttempt(): void {
    this.stream = undefined
    this.delivered = undefined
    this.preamble = []
    this.preambleBytes = 0
    this.bytesLeft = this.requests.streamBytesMax
  }

  onAnswer(headers: UpstreamHeaders): void {
    const { codec } = this.requests
    this.stream = codec.stream(this.requests.answerContext)
    if (this.run.asked?.registered !== undefined) this.delivered = new DeliveredText(this.services.limits)
    this.body = new StreamBody(headers.get('content-type'), this.services.limits, codec.wholeEvents)
    if (headers.unreadable === true) this.call.reject(refusalOfError(null))
    else if (this.call.detached) this.leave()
  }

  onData(bytes: Buffer): void {
    const { stream, body } = this
    if (stream === undefined || body === undefined) return
    this.bytesLeft -= bytes.length
    if (this.bytesLeft < 0) {
      this.brokeOff(stream)
      return
    }
    const events = body.push(bytes)
    if (events !== null) this.read(stream, events)
    else if (body.unusable) this.brokeOff(stream)
  }

  private read(stream: RelayStream, bytes: Buffer): void {
    const out = this.services.outgoing
    out.clear()
    const framesBefore = stream.outputFrames
    stream.push(bytes, out)
    if (this.delivered !== undefined) {
      this.delivered.push(bytes)
      if (stream.outputFrames > framesBefore) this.call.noteOutput(stream.outputBytes)
    }
    this.pass(stream, out)
    if (stream.state === 'broken') this.brokeOff(stream)
    else if (stream.state === 'done') this.streamEnded(stream)
  }

  onEnd(): void {
    const { stream, body } = this
    if (stream === undefined || body === undefined) return
    const rest = body.end()
    if (rest.length > 0) this.read(stream, rest)
    if (this.stream !== stream || isOver(stream)) return
    this.finishReading(stream)
    if (stream.state === 'broken') this.brokeOff(stream)
    else this.streamEnded(stream)
  }

  onBroken(): void {
    const { stream } = this
    if (stream?.finished !== true) return this.interrupt()
    if (this.begun) this.finishReading(stream)
    this.complete(stream)
  }

  onDrain(): void {
    this.call.resume()
  }

  onGone(): void {
    // Providers bill the prompts that they take, and the head of the answer shows whether this one was taken. When all
    // output has arrived and only the usage is missing, a short wait for it is worthwhile.
    const isTaken = this.run.phase !== 'calling'
    const awaitsUsage = this.stream?.finished === true && !isWhole(this.stream.usage)
    if ((isTaken && !awaitsUsage) || !this.call.detach()) this.leave()
    else if (isTaken) this.call.linger(() => this.leave())
  }

  fallBack(error: GatewayError): boolean | Promise<void> {
    return this.requests.fallBack(error)
  }

  onRefused(error: GatewayError): void {
    this.run.refuse(this.requests.told(error))
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
    this.finishStream(outcome, outcome.receipt(chargedUnits))
  }

  onSettleDelayed(outcome: Outcome): void {
    this.finishStream(outcome, '')
  }

  // When an internal error cuts the answer off, the client pays for the prompt alone.
  billOfPart(): Bill {
    return billOf(this.requests, NOTHING_PRODUCED)
  }

  faultEvents(fault: GatewayError): string {
    return this.rest.toString() + this.requests.order.surface.faultEvents(fault)
  }

  // Until the first real output, failover is still possible, so earlier bytes are held back.
  protected pass(stream: RelayStream, out: OutBuffer): void {
    if (out.length === 0) return
    if (!this.begun) {
      const bytesMax = this.services.limits.preambleBytesMax
      if (stream.state === 'waiting' && this.preambleBytes + out.length <= bytesMax) {
        this.preamble.push(out.copy())
        this.preambleBytes += out.length
        return
      }
      if (!this.begin(stream)) return
    }
    this.send(out.view())
  }

  private finishReading(stream: RelayStream): void {
    const out = this.services.outgoing
    out.clear()
    stream.finish(out)
    this.pass(stream, out)
  }

  private brokeOff(stream: RelayStream): void {
    // Nothing is missing of an answer that has ended, whatever the provider does after it.
    if (this.begun && stream.finished && stream.error === null) this.complete(stream)
    else if (this.begun) {
      this.call.breakOff('unusable answer')
      this.interrupt()
    } else this.call.reject(refusalOfError(stream.error))
  }

  private begin(stream: RelayStream): boolean {
    // A stream that broke off or ended without any output is not an answer, unless it is an empty one with usage.
    if (isOver(stream) && stream.outputFrames === 0 && !stream.finished && !isEmptyAnswer(stream)) return false
    this.begun = true
    this.call.commit()
    this.services.metrics.counters.streams++
    this.exchange.beginStream(this.requests.headers)
    return true
  }

  private send(fresh: Buffer): void {
    const bytes = inUtf8(this.preambleBytes > 0 ? Buffer.concat([...this.preamble, fresh]) : fresh)
    this.preamble = []
    this.preambleBytes = 0
    const { exchange, services } = this
    services.metrics.counters.chunksOut++
    if (this.stream?.state === 'done' && services.settlements.endsInTurn) {
      this.rest = Buffer.from(bytes)
      return
    }
    if (exchange.write(bytes)) return
    this.call.pause()
    exchange.setDrainListener(this)
  }

  private streamEnded(stream: RelayStream): void {
    const whole = stream.complete || isEmptyAnswer(stream)
    if (!this.begun && !(whole && this.begin(stream))) {
      this.call.reject(refusalOfError(null))
      return
    }
    if (this.preambleBytes > 0) this.send(NOTHING)
    if (whole) this.complete(stream)
    else this.interrupt()
  }

  private complete(stream: RelayStream): void {
    const errorCode = this.exchange.gone ? CLIENT_GONE : null
    settleUsed(this.run, this.requests, stream, { status: 'ok', errorCode }, this.delivered?.text)
  }

  private interrupt(): void {
    this.fault = new GatewayError('stream_interrupted')
    this.services.metrics.noteError('stream_interrupted')
    this.endPartly('stream_interrupted')
  }

  private leave(): void {
    this.endPartly(CLIENT_GONE)
  }

  private endPartly(errorCode: string): void {
    this.call.cancel()
    const produced = this.stream ?? NOTHING_PRODUCED
    settleUsed(this.run, this.requests, produced, { status: 'partial', errorCode }, this.delivered?.text)
  }

  protected tailOf(stream: RelayStream, tail: StreamTail): string {
    return stream.tail(tail)
  }

  private finishStream({ bill }: Outcome, receipt: string): void {
    const { exchange, services } = this
    if (!this.begun || exchange.gone || this.stream === undefined) return
    const tail = this.tailOf(this.stream, { usage: bill.usage, fault: this.fault, receipt })
    const out = services.outgoing
    out.clear()
    out.appendAll(this.rest)
    out.appendText(tail)
    exchange.end(out.view())
  }
}

function isEmptyAnswer(stream: RelayStream): boolean {
  return stream.state === 'done' && isPaid(stream)
}

function isOver({ state }: RelayStream): boolean {
  return state === 'broken' || state === 'done'
}
