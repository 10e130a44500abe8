import { GatewayError, invalidRequest } from '../../control/contract/errors.ts'
import type { BodyOptions, BodyReader } from './bodyReader.ts'
import type { BodyLease } from './exchange.ts'
import type { UwsExchange } from './uwsExchange.ts'

const EMPTY = Buffer.alloc(0)
const FIRST_BYTES = 65_536
/** Bodies of unannounced length are mostly small. */
const FIRST_BYTES_UNANNOUNCED = 4_096

/**
 * One request body on its way in: a buffer that grows with what has arrived, never with what was announced. It is let
 * go when the exchange ends, for whatever reason; an upload that somebody has taken, when they release it.
 */
export class IncomingBody implements BodyLease {
  private readonly reader: BodyReader
  private readonly exchange: UwsExchange
  private readonly options: BodyOptions
  private buffer: Buffer = EMPTY
  private size = 0
  private pieces = 0
  private over = false
  /** Its place among the open bodies, or -1; kept by the reader. */
  openIndex = -1
  readonly sinceMs: number

  constructor(reader: BodyReader, exchange: UwsExchange, options: BodyOptions) {
    this.reader = reader
    this.exchange = exchange
    this.options = options
    this.sinceMs = performance.now()
  }

  /** The body has taken too long. */
  timeOut(): void {
    this.close(new GatewayError('body_timeout'))
  }

  /** Takes the next piece, which the server package lends for the time of this call. */
  take(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.over) return
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
    if (this.over) return
    this.over = true
    this.reader.closed(this)
    this.reader.release(this.buffer.length, this.options.upload)
    this.buffer = EMPTY
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
    if (size <= limits.uncheckedBodyBytesMax || this.size > limits.uncheckedBodyBytesMax) return true
    const fault = this.options.precheck?.(this.exchange.head)
    if (fault !== undefined) this.turnAway(fault)
    return fault === undefined
  }

  private makeRoom(size: number): boolean {
    const { contentLength, upload } = this.options
    const first = contentLength < 0 ? FIRST_BYTES_UNANNOUNCED : FIRST_BYTES
    const most = contentLength < 0 ? this.reader.bytesMax(upload) : contentLength
    const bytes = Math.max(size, Math.min(most, Math.max(first, this.buffer.length * 2)))
    const fault = this.reader.grow(this.buffer.length, bytes, upload)
    if (fault !== undefined) {
      this.turnAway(fault)
      return false
    }
    const larger = Buffer.allocUnsafeSlow(bytes)
    larger.set(this.buffer.subarray(0, this.size))
    this.buffer = larger
    return true
  }

  private finish(body: Buffer): void {
    if (this.options.upload) {
      this.reader.closed(this)
    } else {
      this.exchange.incoming = undefined
      this.release()
    }
    this.options.done(body)
  }

  // A connection that is closed while its client sends may lose the answer, so the server package reads an announced
  // rest and throws it away. A rest of unknown length could go on for ever.
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
