import type { GatewayError } from '../../contract/errors/errors.ts'
import { checkDeadlines } from '../checkDeadlines.ts'
import { type BodyShare, customerShare, strangerShare } from './bodyShare.ts'
import { type BodyHost, type BodyOptions, IncomingBody } from './incomingBody.ts'
import type { ServerLimits } from './limits.ts'
import { KEEP_OPEN_MS } from './openAnswers.ts'
import type { HttpResponse } from './uws.ts'
import type { UwsExchange } from './uwsExchange.ts'

const CHECKS_PER_TIMEOUT = 16
const CHECK_MAX_MS = 2_000

/**
 * Collects request bodies within the limits of size and time, and within the memory that the bodies of customers and
 * those of strangers may take together.
 */
export class BodyReader implements BodyHost {
  readonly limits: ServerLimits
  /** Called with every refusal that a body caused. */
  readonly onRefusal: (error: GatewayError) => void
  readonly customers: BodyShare
  /** Senders without a proven credential. Every body begins as a stranger's. */
  readonly strangers: BodyShare
  // An array whose members know their index: most bodies are complete within the turn that they begin in, so that a timer
  // for each of them would cost more than the rest of their handling.
  private readonly open: IncomingBody[] = []
  private readonly timer: NodeJS.Timeout

  constructor(limits: ServerLimits, onRefusal: (error: GatewayError) => void) {
    this.limits = limits
    this.onRefusal = onRefusal
    this.customers = customerShare(limits)
    this.strangers = strangerShare(limits)
    const everyMs = Math.max(1, Math.min(limits.bodyTimeoutMs / CHECKS_PER_TIMEOUT, CHECK_MAX_MS))
    this.timer = checkDeadlines(everyMs, (nowMs) => this.check(nowMs)).unref()
  }

  /** No body is under way any more. */
  stop(): void {
    clearInterval(this.timer)
  }

  /** The maximum size of one body, for every sender. */
  bytesMax(upload: boolean): number {
    return this.customers.bytesMax(upload)
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

  private check(nowMs: number): void {
    const latestMs = nowMs - this.limits.bodyTimeoutMs
    const keepMs = nowMs - KEEP_OPEN_MS
    for (const body of this.open.filter((one) => one.keptAtMs <= keepMs || one.sinceMs <= latestMs)) {
      if (body.sinceMs <= latestMs) body.timeOut()
      else body.keepOpen(nowMs)
    }
  }
}
