import { GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import { assertBody, type BodyPhase, isPending } from './bodyPhase.ts'
import type { BodyShare } from './bodyShare.ts'
import type { BodyLease, Precheck, Sender } from './exchange.ts'
import type { ServerLimits } from './limits.ts'
import type { UwsExchange } from './uwsExchange.ts'

const EMPTY = Buffer.alloc(0)
const FIRST_BYTES = 65_536
/** Larger bodies are for other threads to read, so they are gathered in memory that threads share. */
const OWN_BYTES_MAX = 262_144
/** Bodies of unannounced length are mostly small. */
const FIRST_BYTES_UNANNOUNCED = 4_096

export interface BodyOptions {
  /** Bytes announced by Content-Length, or -1. */
  readonly contentLength: number
  readonly precheck: Precheck | undefined
  readonly upload: boolean
  /** Called with the whole body, unless the exchange ended before. */
  readonly done: (body: Buffer) => void
}

/** Tracks the open bodies and bounds them together. */
export interface BodyHost {
  readonly limits: ServerLimits
  readonly customers: BodyShare
  readonly strangers: BodyShare
  /** The most bytes that a customer's body may have. */
  bytesMax(upload: boolean): number
  /** The body takes no more bytes. */
  closed(body: IncomingBody): void
  /** Called with every refusal that a body caused. */
  onRefusal(error: GatewayError): void
}

/**
 * One request body while it arrives: a buffer that grows with the received bytes, never with the announced length. It is
 * released when the exchange ends, for any reason; an upload that a caller has taken, when that caller releases it.
 */
export class IncomingBody implements BodyLease {
  private readonly reader: BodyHost
  private readonly exchange: UwsExchange
  private readonly options: BodyOptions
  private buffer: Buffer = EMPTY
  private size = 0
  private pieces = 0
  private share: BodyShare
  private phase: BodyPhase = 'unchecked'
  /** It has a place among the slow bodies of its share. */
  private slow = false
  /** Its place among the open bodies, or -1; kept by the reader. */
  openIndex = -1
  readonly sinceMs: number
  /** When the connection was last kept from being closed by the server package's own timer. */
  keptAtMs: number

  constructor(reader: BodyHost, exchange: UwsExchange, options: BodyOptions) {
    this.reader = reader
    this.exchange = exchange
    this.options = options
    this.share = reader.strangers
    this.sinceMs = performance.now()
    this.keptAtMs = this.sinceMs
  }

  /** The body has taken too long. */
  timeOut(): void {
    this.close(new GatewayError('body_timeout'))
  }

  /** Keeps the connection of a body that is slow but in time, as long as there is a place for slow bodies. */
  keepOpen(nowMs: number): void {
    this.keptAtMs = nowMs
    if (!this.slow && !this.takeSlow()) {
      if (!isPending(this.phase)) this.timeOut()
      return
    }
    // Pausing stops the server package's timer, and resuming restarts it.
    if (this.phase === 'paused') return
    this.exchange.pauseBody()
    this.exchange.resumeBody()
  }

  /** Takes the next piece, which the server package lends for the time of this call. */
  take(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.isOver) return
    const size = this.size + chunk.byteLength
    if (!this.mayTake(size)) return
    if (isLast && this.size === 0 && !this.options.upload) {
      this.finish(copyOf(chunk))
      return
    }
    if (size > this.buffer.length && !this.makeRoom(size)) return
    this.buffer.set(new Uint8Array(chunk), this.size)
    this.size = size
    if (isLast) this.finish(this.buffer.subarray(0, size))
  }

  release(): void {
    if (this.isOver) return
    if (this.phase !== 'arrived') this.arrived()
    this.enter('released')
    this.share.release(this.buffer.length, this.options.upload)
    this.buffer = EMPTY
  }

  private get isOver(): boolean {
    return this.phase === 'released'
  }

  private enter(phase: BodyPhase): void {
    assertBody(this.phase, phase)
    this.phase = phase
  }

  /** The body takes no more bytes. */
  private arrived(): void {
    this.reader.closed(this)
    if (this.slow) this.share.releaseSlow()
    this.slow = false
  }

  private mayTake(size: number): boolean {
    const { limits } = this.reader
    const bytesMax = this.reader.bytesMax(this.options.upload)
    if (size > bytesMax) {
      this.close(tooLarge(bytesMax))
      return false
    }
    // Each piece costs the server package far more than its bytes.
    if (++this.pieces > limits.bodyPiecesMax) {
      this.close(invalidRequest('The request body is sent in too many small chunks; send larger ones.'))
      return false
    }
    if (size <= limits.uncheckedBodyBytesMax) return true
    if (this.phase === 'unchecked') this.ask()
    return !this.isOver && !this.isTooLarge(size)
  }

  private isTooLarge(size: number): boolean {
    const bytesMax = this.share.bytesMax(this.options.upload)
    // While the sender is checked, bytes that the socket had already read still arrive; they are few.
    if (isPending(this.phase) || Math.max(size, this.options.contentLength) <= bytesMax) return false
    this.turnAway(tooLarge(bytesMax))
    return true
  }

  /** Checks the sender of this body. While the check is pending, the body is not read any further. */
  private ask(): void {
    this.enter('checking')
    const sender = this.options.precheck?.(this.exchange.head)
    if (!(sender instanceof Promise)) {
      this.enter('checked')
      this.settle(sender)
      return
    }
    // The socket may already have read the rest of the body, which then arrives within this turn.
    setImmediate(() => this.pause())
    sender.then((known) => this.goOn(known)).catch(() => this.goOn('stranger'))
  }

  private pause(): void {
    if (this.phase !== 'checking') return
    this.enter('paused')
    this.exchange.pauseBody()
  }

  private goOn(sender: Sender): void {
    // The whole body may be here by now, or its exchange have ended.
    if (!isPending(this.phase)) return
    const wasPaused = this.phase === 'paused'
    this.enter('checked')
    if (wasPaused) this.exchange.resumeBody()
    this.settle(sender)
    if (!this.isOver) this.isTooLarge(this.size)
  }

  private settle(sender: Sender | undefined): void {
    if (sender instanceof GatewayError) this.turnAway(sender)
    else if (sender === 'customer') this.moveToCustomers()
  }

  private moveToCustomers(): void {
    const { customers, strangers } = this.reader
    const fault = customers.grow(0, this.buffer.length, this.options.upload)
    if (fault !== undefined) {
      this.turnAway(fault)
      return
    }
    strangers.release(this.buffer.length, this.options.upload)
    if (this.slow) {
      strangers.releaseSlow()
      this.slow = customers.takeSlow()
    }
    this.share = customers
  }

  private takeSlow(): boolean {
    this.slow = this.share.takeSlow()
    if (!this.slow && this.phase === 'unchecked') {
      this.ask()
      this.slow = !this.isOver && this.share.takeSlow()
    }
    return this.slow
  }

  private makeRoom(size: number): boolean {
    const { contentLength, upload } = this.options
    const first = contentLength < 0 ? FIRST_BYTES_UNANNOUNCED : FIRST_BYTES
    const most = contentLength < 0 ? this.share.bytesMax(upload) : contentLength
    const bytes = Math.max(size, Math.min(most, Math.max(first, this.buffer.length * 2)))
    const fault = this.grow(bytes)
    if (this.isOver) return false
    if (fault !== undefined) {
      this.turnAway(fault)
      return false
    }
    this.buffer = upload || bytes <= OWN_BYTES_MAX ? this.copied(Buffer.allocUnsafeSlow(bytes)) : this.shared(bytes)
    return true
  }

  private copied(to: Buffer): Buffer {
    to.set(this.buffer.subarray(0, this.size))
    return to
  }

  // All of the announced length together, because growing would mean copying: pages that were never written take no memory.
  private shared(bytes: number): Buffer {
    const { buffer: memory } = this.buffer
    if (memory instanceof SharedArrayBuffer && memory.byteLength >= bytes) return Buffer.from(memory, 0, bytes)
    return this.copied(Buffer.from(new SharedArrayBuffer(Math.max(bytes, this.options.contentLength)), 0, bytes))
  }

  /** Reserves memory. When the share of strangers is used up, the credential is verified first. */
  private grow(bytes: number): GatewayError | undefined {
    const { upload } = this.options
    const fault = this.share.grow(this.buffer.length, bytes, upload)
    if (fault === undefined || this.phase !== 'unchecked') return fault
    this.ask()
    return this.isOver ? undefined : this.share.grow(this.buffer.length, bytes, upload)
  }

  private finish(body: Buffer): void {
    if (this.options.upload) {
      this.enter('arrived')
      this.arrived()
    } else {
      this.exchange.incoming = undefined
      this.release()
    }
    this.options.done(body)
  }

  // A client that is still sending may lose the answer when its connection is closed, so the server package reads and
  // discards an announced rest. A rest of unknown length has no bound.
  private turnAway(error: GatewayError): void {
    if (this.options.contentLength < 0) {
      this.close(error)
      return
    }
    this.reader.onRefusal(error)
    this.exchange.fail(error)
  }

  private close(error: GatewayError): void {
    this.reader.onRefusal(error)
    this.exchange.refuse(error)
  }
}

/** The refusal of a body by its size. */
export function tooLarge(bytesMax: number): GatewayError {
  const message = `The request body is larger than ${bytesMax} bytes; send a smaller one.`
  return new GatewayError('body_too_large', { message })
}

function copyOf(chunk: ArrayBuffer): Buffer {
  if (chunk.byteLength === 0) return EMPTY
  const copy = Buffer.allocUnsafe(chunk.byteLength)
  copy.set(new Uint8Array(chunk))
  return copy
}
