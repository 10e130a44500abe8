import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { BodyLease, DrainListener, Exchange } from '../../server/exchange.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { CallListener, ProviderCall } from '../run/providerCall.ts'
import { Run, type RunListener } from '../run/run.ts'
import type { RunServices } from '../run/services.ts'
import type { BytePlan } from './operation.ts'
import { unitRequest } from './unitRequest.ts'

const NOTHING = Buffer.alloc(0)
const MEDIA_TYPE = /^(?:audio\/[a-z0-9.+-]{1,64}|application\/octet-stream)(?:;.*)?$/i
const AUDIO_TYPE = /^audio\/[a-z0-9.+-]{1,64}/i

/**
 * A request whose answer is bytes that are relayed as they arrive. The provider bills by its input, so from the first byte
 * on the full price is due, however the answer ends.
 */
export class ByteRun implements RunListener, CallListener, DrainListener {
  private readonly run: Run
  private readonly call: ProviderCall
  private readonly plan: BytePlan
  private readonly upload: BodyLease | undefined
  private contentType = ''
  private bytesLeft: number
  /** The client has received the beginning of the answer. */
  private begun = false
  /** The answer broke off, which its client learns from a connection that breaks off too. */
  private broken = false

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: BytePlan, services: RunServices) {
    this.run = new Run(exchange, principal, metered, services, this)
    this.call = this.run.callFor(this)
    this.plan = plan
    this.bytesLeft = plan.answerBytesMax
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
    this.bytesLeft = this.plan.answerBytesMax
  }

  onAnswer(headers: UpstreamHeaders): void {
    const type = headers.get('content-type') ?? 'application/octet-stream'
    if (headers.unreadable === true || !MEDIA_TYPE.test(type)) {
      this.call.reject(refusalOfError(null))
      return
    }
    this.contentType = AUDIO_TYPE.exec(type)?.[0].toLowerCase() ?? this.plan.contentType
    // The provider has taken the request, and no client waits for its answer.
    if (this.call.detached) this.run.leave(this.plan.bill)
  }

  onData(bytes: Buffer): void {
    const { exchange, services } = this.run
    if (!this.begun) this.begin()
    this.bytesLeft -= bytes.length
    if (this.bytesLeft < 0) {
      this.call.breakOff('answer too long')
      this.onBroken()
      return
    }
    services.metrics.counters.chunksOut++
    if (exchange.write(bytes)) return
    this.call.pause()
    exchange.setDrainListener(this)
  }

  onEnd(): void {
    if (this.begun) this.run.settle('ok', this.plan.bill, null)
    else this.call.reject(refusalOfError(null))
  }

  onBroken(): void {
    this.broken = true
    this.run.services.metrics.noteError('stream_interrupted')
    this.run.settle('partial', this.plan.bill, 'stream_interrupted')
  }

  onDrain(): void {
    this.call.resume()
  }

  // Whether the provider takes the request decides its cost. When too many requests already wait for that, it counts as
  // taken.
  onGone(): void {
    if (this.run.phase === 'calling' && this.call.detach()) return
    this.run.leave(this.plan.bill)
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

  onDone(): void {
    this.upload?.release()
  }

  billOfPart(): Bill {
    return this.plan.bill
  }

  private begin(): void {
    this.begun = true
    this.call.commit()
    this.run.services.metrics.counters.streams++
    this.run.exchange.beginStream(['x-cost-units', String(this.plan.bill.units)], this.contentType)
  }

  private finish(): void {
    if (!this.begun) return
    if (this.broken) this.run.exchange.breakOff()
    else this.run.exchange.end(NOTHING)
  }
}
