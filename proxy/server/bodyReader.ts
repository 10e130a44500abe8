import { GatewayError } from '../../control/contract/errors.ts'
import type { Limits } from '../../control/contract/limits.ts'
import { checkDeadlines } from '../checkDeadlines.ts'
import type { Precheck } from './exchange.ts'
import { IncomingBody } from './incomingBody.ts'
import type { HttpResponse } from './uws.ts'
import type { UwsExchange } from './uwsExchange.ts'

const LARGE_BYTES = 1_048_576
const LARGE_RETRY_SECONDS = 1
const UPLOAD_RETRY_SECONDS = 2
const CHECKS_PER_TIMEOUT = 16

export interface BodyOptions {
  /** Bytes announced by Content-Length, or -1. */
  readonly contentLength: number
  readonly precheck: Precheck | undefined
  readonly upload: boolean
  /** Called with the whole body, unless the exchange ended before. */
  readonly done: (body: Buffer) => void
}

/**
 * Collects request bodies within the limits of size and time, and within the memory that all bodies of the process on
 * their way in may take together.
 */
export class BodyReader {
  readonly limits: Limits
  /** Called with every refusal that a body caused. */
  readonly onRefusal: (error: GatewayError) => void
  /** Memory of the bodies that are on their way in. */
  bytesOpen = 0
  /** Bodies over 1 MiB that are on their way in. */
  largeOpen = 0
  /** Memory of the uploads whose requests have not ended. */
  uploadBytesOpen = 0
  // An array whose members know their place: most bodies are there within the turn that they begin in, so that a timer
  // for each of them would cost more than the rest of their handling.
  private readonly open: IncomingBody[] = []

  constructor(limits: Limits, onRefusal: (error: GatewayError) => void) {
    this.limits = limits
    this.onRefusal = onRefusal
    const everyMs = Math.max(1, limits.bodyTimeoutMs / CHECKS_PER_TIMEOUT)
    checkDeadlines(everyMs, (nowMs) => this.endLate(nowMs)).unref()
  }

  /** The most bytes that one body may have. */
  bytesMax(upload: boolean): number {
    const { bodyBytesMax, jsonBodyBytesMax } = this.limits
    return upload ? bodyBytesMax : Math.min(bodyBytesMax, jsonBodyBytesMax)
  }

  /**
   * Reads the body of a request and gives it to `options.done`, unless the exchange ended before (too large, too slow,
   * no memory left, client gone).
   */
  read(res: HttpResponse, exchange: UwsExchange, options: BodyOptions): void {
    const body = new IncomingBody(this, exchange, options)
    body.openIndex = this.open.length
    this.open.push(body)
    exchange.incoming = body
    res.onData((chunk, isLast) => body.take(chunk, isLast))
  }

  /**
   * Books memory for a body that grows.
   * @returns why it may not grow; nothing is booked then
   */
  grow(fromBytes: number, toBytes: number, upload: boolean): GatewayError | undefined {
    if (upload) return this.growUpload(toBytes - fromBytes)
    if (this.bytesOpen - fromBytes + toBytes > this.limits.bodyBytesOpenMax) {
      return new GatewayError('too_many_requests_open')
    }
    if (isLarge(toBytes) && !isLarge(fromBytes)) {
      if (this.largeOpen >= this.limits.largeBodiesMax) {
        return new GatewayError('too_many_uploads', { retryAfterSeconds: LARGE_RETRY_SECONDS })
      }
      this.largeOpen++
    }
    this.bytesOpen += toBytes - fromBytes
    return undefined
  }

  /** A body has arrived or was dropped. */
  closed(body: IncomingBody): void {
    const at = body.openIndex
    if (at < 0) return
    body.openIndex = -1
    const last = this.open.pop()
    if (last === undefined || last === body) return
    this.open[at] = last
    last.openIndex = at
  }

  private endLate(nowMs: number): void {
    const latestMs = nowMs - this.limits.bodyTimeoutMs
    for (const body of this.open.filter((one) => one.sinceMs <= latestMs)) body.timeOut()
  }

  /** Gives back the memory of a body that arrived or was dropped, or of an upload that is not needed any more. */
  release(bytes: number, upload: boolean): void {
    if (upload) {
      this.uploadBytesOpen -= bytes
      return
    }
    this.bytesOpen -= bytes
    if (isLarge(bytes)) this.largeOpen--
  }

  private growUpload(bytes: number): GatewayError | undefined {
    if (this.uploadBytesOpen + bytes > this.limits.uploadBytesOpenMax) {
      return new GatewayError('too_many_uploads', { retryAfterSeconds: UPLOAD_RETRY_SECONDS })
    }
    this.uploadBytesOpen += bytes
    return undefined
  }
}

function isLarge(bytes: number): boolean {
  return bytes > LARGE_BYTES
}
