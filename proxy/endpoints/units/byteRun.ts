import { GatewayError } from '../../../contract/errors/errors.ts'
import type { DrainListener } from '../../server/exchange.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { BytePlan } from './operation.ts'
import { UnitRun } from './unitRun.ts'

const NOTHING = Buffer.alloc(0)
const MEDIA_TYPE = /^(?:audio\/[a-z0-9.+-]{1,64}|application\/octet-stream)(?:;.*)?$/i
const AUDIO_TYPE = /^audio\/[a-z0-9.+-]{1,64}/i

/**
 * A request whose answer is bytes that go through as they come. The provider bills for what it was sent, so from its
 * first byte on the whole price is due, however the answer ends.
 */
export class ByteRun extends UnitRun<BytePlan> implements DrainListener {
  private contentType = ''
  private committed = false
  /** The answer broke off, which its client learns from a connection that breaks off too. */
  private broken = false

  protected answerBegins(headers: UpstreamHeaders): void {
    const type = headers.get('content-type') ?? 'application/octet-stream'
    if (headers.unreadable === true || !MEDIA_TYPE.test(type)) {
      this.attempts?.reject(refusalOfError(null))
      return
    }
    this.contentType = AUDIO_TYPE.exec(type)?.[0].toLowerCase() ?? this.plan.contentType
    // The provider has taken the request, and nobody waits for what it says.
    if (this.detached) this.leave()
  }

  onData(bytes: Buffer): void {
    if (this.ending || bytes.length === 0) return
    this.noteFirstByte()
    if (!this.committed) this.commit()
    this.services.metrics.counters.chunksOut++
    if (this.exchange.write(bytes)) return
    this.attempts?.pause()
    this.exchange.setDrainListener(this)
  }

  onEnd(): void {
    if (this.ending) return
    if (this.committed) this.settle('ok', this.plan.bill, null)
    else this.attempts?.reject(refusalOfError(null))
  }

  onBroken(): void {
    if (this.ending) return
    this.broken = true
    this.services.metrics.noteError('stream_interrupted')
    this.settle('partial', this.plan.bill, 'stream_interrupted')
  }

  onDrain(): void {
    this.attempts?.resume()
  }

  override onGone(): void {
    if (this.ending || this.attempts === undefined) return
    // Whether the provider takes the request decides what it costs. Without room to wait for that, it counts as taken.
    if (!this.headSeen && this.detach()) return
    this.leave()
  }

  override cut(): void {
    if (this.ending) return
    const fault = new GatewayError(this.committed ? 'stream_cut' : 'gateway_restarting')
    this.broken = true
    this.cutOff(fault.code)
    if (!this.committed) this.failWith(fault)
  }

  onSettled(): void {
    this.finish()
  }

  onSettleDelayed(): void {
    this.finish()
  }

  protected billOfPart(): Bill {
    return this.plan.bill
  }

  private commit(): void {
    this.committed = true
    this.attempts?.commit()
    this.services.metrics.counters.streams++
    this.exchange.beginStream(['x-cost-units', String(this.plan.bill.units)], this.contentType)
  }

  private leave(): void {
    this.attempts?.cancel()
    this.settle('partial', this.plan.bill, 'client_gone')
  }

  private finish(): void {
    this.close()
    if (!this.committed) return
    if (this.broken) this.exchange.breakOff()
    else this.exchange.end(NOTHING)
  }
}
