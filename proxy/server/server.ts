import { type ErrorCode, GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import { newId } from '../../contract/wire/ids.ts'
import { BodyReader } from './bodyReader.ts'
import { carriesTwoCredentials } from './credentials.ts'
import type { Exchange, Handler, HeaderList, RequestHead } from './exchange.ts'
import { type ParsedHead, parseHead } from './head.ts'
import { tooLarge } from './incomingBody.ts'
import type { ServerLimits } from './limits.ts'
import { hintFor } from './meantPath.ts'
import { OpenAnswers } from './openAnswers.ts'
import { allowHeader, type RouteEntry, RouteTable } from './routeTable.ts'
import {
  type App,
  closeListener,
  type HttpRequest,
  type HttpResponse,
  type ListenSocket,
  listenerPort,
  newApp,
  SHARE_PORT,
} from './uws.ts'
import { UwsExchange } from './uwsExchange.ts'

const EMPTY = Buffer.alloc(0)
const PREFLIGHT_SECONDS = '86400'
const UNCODED = ['accept-encoding', 'identity']

export interface ServerOptions {
  readonly routes: readonly RouteEntry[]
  readonly limits: ServerLimits
  /** Called with the exception of a handler; the client gets 500. */
  readonly onError: (error: unknown, requestId: string) => void
  /** Called with every error that a client is answered, whichever part answers it. */
  readonly onFailed: (error: GatewayError, exchange: Exchange) => void
  /** Called with every refusal that the server itself answers. */
  readonly onRefusal: (error: GatewayError) => void
}

/** The HTTP server of one proxy process. */
export class Server {
  /** Requests whose answers have not ended. */
  open = 0
  /** Every answer ends its connection. */
  isLeaving = false

  readonly answers: OpenAnswers
  readonly onFailed: (error: GatewayError, exchange: Exchange) => void
  readonly onEnded = (): void => {
    this.open--
    if (this.open === 0) this.idle?.()
  }
  private readonly table: RouteTable
  private readonly limits: ServerLimits
  private readonly bodies: BodyReader
  /** Bodies with a larger announced length are not even read to be discarded. */
  private readonly discardedMax: number
  private readonly onError: (error: unknown, requestId: string) => void
  private readonly onRefusal: (error: GatewayError) => void
  private idle: (() => void) | undefined
  private draining = false
  private listener: ListenSocket | undefined
  private app: App | undefined

  constructor(options: ServerOptions) {
    this.table = new RouteTable(options.routes)
    this.limits = options.limits
    this.bodies = new BodyReader(options.limits, options.onRefusal)
    this.answers = new OpenAnswers(options.limits.readerStallMs)
    this.discardedMax = Math.max(this.limits.bodyBytesMax, this.limits.bodyBytesDiscardedMax)
    this.onError = options.onError
    this.onRefusal = options.onRefusal
    this.onFailed = options.onFailed
  }

  /**
   * Listens on host and port; port 0 takes a free one.
   * @returns the port
   */
  listen(host: string, port: number): Promise<number> {
    const app = newApp()
    this.app = app
    app.any('/*', (res, req) => this.handle(res, req))
    return new Promise((resolve, reject) => {
      const listening = (socket: unknown) => {
        if (!socket) {
          reject(new Error(`cannot listen on ${host}:${port}: the port is in use or not allowed`))
          return
        }
        this.listener = socket as ListenSocket
        resolve(listenerPort(this.listener))
      }
      // The types of the package know no form with both host and options, but the server takes it.
      Reflect.apply(app.listen, app, [host, port, SHARE_PORT, listening])
    })
  }

  /** From now on every answer ends its connection; requests are served as before. */
  leave(): void {
    this.isLeaving = true
  }

  /** From now on new requests are answered 503 gateway_restarting, and their connections end. */
  drain(): void {
    this.isLeaving = true
    this.draining = true
  }

  /** Resolves when no answer is under way any more. */
  whenIdle(): Promise<void> {
    if (this.open === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.idle = resolve
    })
  }

  /** Stops listening; connections that are open stay open until the process ends, or `end` is called. */
  close(): void {
    if (this.listener !== undefined) closeListener(this.listener)
    this.listener = undefined
  }

  /** Ends every connection, as the end of the process does. */
  end(): void {
    this.close()
    this.app?.close()
    this.bodies.stop()
    this.answers.stop()
  }

  private handle(res: HttpResponse, req: HttpRequest): void {
    const parsed = parseHead(req)
    const startedAtMs = Date.now()
    this.open++
    const exchange = new UwsExchange(res, newId('req', startedAtMs), parsed, startedAtMs, this)
    const refusal = this.refusal(parsed)
    if (refusal !== undefined) {
      this.onRefusal(refusal)
      this.refuse(exchange, refusal, parsed.framingFault !== '')
      return
    }
    const { method, path } = parsed.head
    if (method === 'OPTIONS') {
      this.preflight(exchange)
      return
    }
    const byMethod = this.table.find(path)
    if (byMethod === undefined) {
      this.fail(exchange, new GatewayError('not_found', { message: this.notFound(method, path) }))
      return
    }
    const route = byMethod.get(method)
    if (route === undefined) {
      const allow = allowHeader(byMethod)
      const message = `${path} does not serve ${method}; use one of ${allow}.`
      this.fail(exchange, new GatewayError('method_not_allowed', { message }), ['allow', allow])
      return
    }
    exchange.route = route.path
    const hasBody = parsed.contentLength > 0 || parsed.chunked
    // RFC 9110 section 15.5.16 asks for the codings that would be taken.
    if (hasBody && parsed.isCoded) this.fail(exchange, new GatewayError('unsupported_encoding'), UNCODED)
    else if (hasBody) this.read(res, exchange, route, parsed.contentLength)
    else this.run(route.handler, exchange, EMPTY)
  }

  private read(res: HttpResponse, exchange: UwsExchange, route: RouteEntry, contentLength: number): void {
    const { handler, precheck, upload = false } = route
    const bytesMax = this.bodies.bytesMax(upload)
    // A client that is still sending may lose the answer when its connection is closed, so the body is read and discarded.
    if (contentLength > bytesMax) {
      this.fail(exchange, tooLarge(bytesMax))
      return
    }
    const done = (body: Buffer) => this.run(handler, exchange, body)
    this.bodies.read(res, exchange, { contentLength, precheck, upload, done })
  }

  // When the framing is invalid, bytes after the head may be a smuggled request. While an answer is pending, the server
  // package closes the connection at a second request; after an answer it would serve that request.
  private refuse(exchange: UwsExchange, refusal: GatewayError, framingFault: boolean): void {
    if (framingFault) setImmediate(() => exchange.refuse(refusal))
    else exchange.refuse(refusal)
  }

  private refusal(parsed: ParsedHead): GatewayError | undefined {
    if (parsed.framingFault !== '') {
      return invalidRequest(`${parsed.framingFault}; send one valid length.`)
    }
    if (parsed.hasTwoCredentials || (carriesTwoCredentials(parsed.head) && !this.comparesCredentials(parsed.head))) {
      return new GatewayError('payment_conflict', { message: 'Two credentials were sent; send one of them.' })
    }
    if (parsed.contentLength > this.discardedMax) return tooLarge(this.limits.bodyBytesMax)
    if (this.draining && parsed.head.path !== '/health') return new GatewayError(this.drainCode(parsed.head))
    if (this.open > this.limits.openRequestsMax) return new GatewayError('too_many_requests_open')
    return undefined
  }

  private comparesCredentials({ method, path }: RequestHead): boolean {
    return this.table.find(path)?.get(method)?.comparesCredentials === true
  }

  private drainCode({ method, path }: RequestHead): ErrorCode {
    return this.table.find(path)?.get(method)?.drainCode ?? 'gateway_restarting'
  }

  private run(handler: Handler, exchange: UwsExchange, body: Buffer): void {
    exchange.body = body
    try {
      const running = handler(exchange, body)
      if (running === undefined) exchange.body = EMPTY
      else
        running
          .catch((error: unknown) => this.crashed(exchange, error))
          .finally(() => {
            exchange.body = EMPTY
          })
    } catch (error) {
      exchange.body = EMPTY
      this.crashed(exchange, error)
    }
  }

  private crashed(exchange: UwsExchange, error: unknown): void {
    if (error instanceof GatewayError) {
      this.fail(exchange, error)
      return
    }
    this.onError(error, exchange.id)
    this.fail(exchange, new GatewayError('internal_error'))
  }

  private fail(exchange: UwsExchange, error: GatewayError, headers?: HeaderList): void {
    this.onRefusal(error)
    exchange.fail(error, headers)
  }

  private notFound(method: string, path: string): string {
    return `There is no ${method} ${path}; ${hintFor(path, (one) => this.table.find(one) !== undefined)}.`
  }

  private preflight(exchange: UwsExchange): void {
    const byMethod = this.table.find(exchange.head.path)
    exchange.answer(204, 'text/plain', '', [
      'access-control-allow-methods',
      byMethod === undefined ? 'GET, POST, OPTIONS' : allowHeader(byMethod),
      'access-control-allow-headers',
      '*, authorization',
      'access-control-max-age',
      PREFLIGHT_SECONDS,
    ])
  }
}
