import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { RelayStream } from '../../dialects/shared/relayStream.ts'
import type { DrainListener } from '../../server/exchange.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport/transport.ts'
import { ChatRun } from './run.ts'

const NOTHING = Buffer.alloc(0)
const EVENT_STREAM = 'text/event-stream'

/** A streamed chat request: chunks go through as they come, the receipt and the end follow the settlement. */
export class StreamRun extends ChatRun implements DrainListener {
  private stream: RelayStream | undefined
  private preamble: Buffer[] = []
  private preambleBytes = 0
  private committed = false
  /** The error that the client is told before the stream ends. */
  private fault: GatewayError | null = null
  private lingering: NodeJS.Timeout | undefined

  onData(bytes: Buffer): void {
    const { stream } = this
    if (this.ending || stream === undefined) return
    this.noteFirstByte()
    const out = this.services.outgoing
    out.clear()
    stream.push(bytes, out)
    this.pass(out)
    if (stream.state === 'broken') this.brokeOff(stream)
    else if (stream.state === 'done') this.streamEnded(stream)
  }

  onEnd(): void {
    const { stream } = this
    if (this.ending || stream === undefined) return
    const out = this.services.outgoing
    out.clear()
    stream.finish(out)
    this.pass(out)
    if (stream.state === 'broken') this.brokeOff(stream)
    else this.streamEnded(stream)
  }

  onBroken(): void {
    if (this.ending || this.stream === undefined) return
    if (this.stream.finished) this.complete(this.stream)
    else this.interrupt()
  }

  onDrain(): void {
    this.attempts?.resume()
  }

  override onGone(): void {
    // Before the hold is answered there is nothing to end yet; its answer finds the client gone.
    if (this.ending || this.attempts === undefined) return
    // Providers bill the prompts that they take, and the head of the answer says whether this one was taken. Where all
    // output is there and only its bill is missing, that is worth a moment.
    const awaitsUsage = this.stream?.finished === true && this.stream.usage === null
    if ((this.headSeen && !awaitsUsage) || !this.detach()) {
      this.leave()
      return
    }
    if (!this.headSeen) return
    this.lingering = setTimeout(() => this.leave(), this.services.limits.lingerMs)
    this.attempts.resume()
  }

  override onAttempt(route: Route): void {
    super.onAttempt(route)
    this.stream = undefined
    this.preamble = []
    this.preambleBytes = 0
  }

  override cut(): void {
    if (this.ending) return
    this.fault = new GatewayError(this.committed ? 'stream_cut' : 'gateway_restarting')
    this.cutOff(this.fault.code)
    if (!this.committed) this.failWith(this.fault)
  }

  onSettled(chargedUnits: number): void {
    this.finishStream(this.receipt(chargedUnits))
  }

  onSettleDelayed(): void {
    this.finishStream('')
  }

  protected answerBegins(headers: UpstreamHeaders): void {
    this.stream = this.codec.stream(this.answerContext)
    const type = headers.get('content-type')?.toLowerCase() ?? EVENT_STREAM
    if (!type.startsWith(EVENT_STREAM) || headers.unreadable === true) this.attempts?.reject(refusalOfError(null))
    else if (this.detached) this.leave()
  }

  // Until the first real output another route may still serve, so what came before it is kept back.
  private pass(out: OutBuffer): void {
    const { stream } = this
    if (stream === undefined || out.length === 0) return
    const waiting = stream.state === 'waiting'
    if (!this.committed && waiting && this.preambleBytes + out.length <= this.services.limits.preambleBytesMax) {
      this.preamble.push(Buffer.from(out.view()))
      this.preambleBytes += out.length
      return
    }
    if (!this.committed && !this.commit(stream)) return
    this.send(out.view())
  }

  private brokeOff(stream: RelayStream): void {
    if (this.committed) this.interrupt()
    else this.attempts?.reject(refusalOfError(stream.error))
  }

  private commit(stream: RelayStream): boolean {
    // What broke off or ended without any output is no answer; a stream that ends at once must say what it cost.
    const { state } = stream
    const empty = stream.outputFrames === 0 && !stream.finished
    if (empty && (state === 'broken' || (state === 'done' && stream.usage === null))) return false
    this.committed = true
    this.attempts?.commit()
    this.services.metrics.counters.streams++
    this.exchange.beginStream()
    return true
  }

  private send(fresh: Buffer): void {
    const bytes = this.preambleBytes > 0 ? Buffer.concat([...this.preamble, fresh]) : fresh
    this.preamble = []
    this.preambleBytes = 0
    this.services.metrics.counters.chunksOut++
    if (this.exchange.write(bytes)) return
    this.attempts?.pause()
    this.exchange.setDrainListener(this)
  }

  private streamEnded(stream: RelayStream): void {
    const whole = stream.complete || (stream.state === 'done' && stream.usage !== null)
    if (!this.committed && !(whole && this.commit(stream))) {
      this.attempts?.reject(refusalOfError(null))
      return
    }
    if (this.preambleBytes > 0) this.send(NOTHING)
    if (whole) this.complete(stream)
    else this.interrupt()
  }

  private complete(stream: RelayStream): void {
    this.noteOutput()
    this.settleUsed('ok', stream.usage, followed(stream), this.exchange.gone ? 'client_gone' : null)
  }

  private interrupt(): void {
    this.fault = new GatewayError('stream_interrupted')
    this.services.metrics.noteError('stream_interrupted')
    this.attempts?.cancel()
    this.endPartly('stream_interrupted')
  }

  private leave(): void {
    this.attempts?.cancel()
    this.endPartly('client_gone')
  }

  private endPartly(errorCode: string): void {
    const { stream } = this
    this.noteOutput()
    this.settleUsed('partial', stream?.usage ?? null, stream !== undefined && followed(stream), errorCode)
  }

  private noteOutput(): void {
    this.outputFrames = this.stream?.outputFrames ?? 0
    this.outputBytes = this.stream?.outputBytes ?? 0
  }

  protected override close(): void {
    clearTimeout(this.lingering)
    this.lingering = undefined
    super.close()
  }

  private finishStream(receipt: string): void {
    this.close()
    if (!this.committed || this.exchange.gone || this.stream === undefined) return
    const { startedAtMs } = this.exchange
    const tail = this.stream.tail({ usage: this.bill.usage, fault: this.fault, receipt, startedAtMs })
    const out = this.services.outgoing
    out.clear()
    out.appendText(tail)
    this.exchange.end(out.view())
  }
}

/** Whether output came after the last report of what was used. */
function followed(stream: RelayStream): boolean {
  return stream.outputFrames > stream.framesAtUsage
}
