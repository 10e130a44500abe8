import { Readable } from 'node:stream'
import { buildConnector, type Dispatcher, errors, Pool } from 'undici'
import { isForbiddenHost, publicLookup } from '../../contract/net/publicLookup.ts'
import { TunnelError } from '../../contract/net/tunnel.ts'
import { tunnelConnector } from '../../contract/net/tunnelConnector.ts'
import { type BodyDecoder, type BodyReading, readCoded } from './bodyDecoder.ts'
import type { UpstreamLimits } from './limits.ts'
import {
  type FailureKind,
  isPieces,
  piecesBytes,
  poolName,
  slicesOf,
  type Transport,
  TransportFailure,
  type UpstreamCall,
  type UpstreamFlow,
  type UpstreamHeaders,
  type UpstreamListener,
  type UpstreamRequest,
} from './transport/transport.ts'

type IncomingHeaders = Record<string, string | string[] | undefined>

/** A transport over undici's dispatch interface, with one pool of keep-alive connections per origin. */
export class UndiciTransport implements Transport {
  private readonly pools = new Map<string, Pool>()
  private readonly limits: UpstreamLimits

  constructor(limits: UpstreamLimits) {
    this.limits = limits
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    if (request.publicOnly === true && isForbiddenHost(new URL(request.origin).hostname)) {
      setImmediate(() => listener.onFailure(new TransportFailure('connect')))
      return NO_CALL
    }
    const call = new UndiciCall(listener, request.totalTimeoutMs)
    const { body } = request
    const traceList = request.traceHeaders?.list ?? []
    const length = isPieces(body) ? ['content-length', String(piecesBytes(body))] : []
    this.poolOf(request).dispatch(
      {
        path: request.path,
        method: request.method,
        headers: [...request.headers.list, ...traceList, 'x-request-id', request.requestId, ...length],
        body: isPieces(body) ? Readable.from(slicesOf(body), { objectMode: false }) : body,
        headersTimeout: request.firstByteTimeoutMs,
        bodyTimeout: request.idleTimeoutMs,
      },
      call,
    )
    return call
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.destroy()))
  }

  private poolOf(request: UpstreamRequest): Pool {
    const name = poolName(request)
    let pool = this.pools.get(name)
    if (pool === undefined) {
      pool = new Pool(request.origin, {
        connections: this.limits.connectionsPerProviderMax,
        pipelining: 1,
        connect: connectorOf(request),
      })
      this.pools.set(name, pool)
      this.closeOldest()
    }
    return pool
  }

  private closeOldest(): void {
    const [oldest] = this.pools
    if (oldest === undefined || this.pools.size <= this.limits.undiciPoolsMax) return
    this.pools.delete(oldest[0])
    void oldest[1].close()
  }
}

function connectorOf({ publicOnly, reach, connectTimeoutMs: timeout }: UpstreamRequest): buildConnector.connector {
  if (publicOnly === true) return buildConnector({ timeout, lookup: publicLookup() })
  const secure = buildConnector({ timeout, ...(reach?.context && { secureContext: reach.context }) })
  return reach?.proxy === undefined ? secure : tunnelConnector(reach.proxy, secure, timeout)
}

class UndiciCall implements UpstreamCall, Dispatcher.DispatchHandler {
  private listener: UpstreamListener
  private timer: NodeJS.Timeout
  private controller: Dispatcher.DispatchController | undefined
  private headSeen = false
  private over = false
  private decoder: BodyDecoder | undefined

  constructor(listener: UpstreamListener, totalTimeoutMs: number) {
    this.listener = listener
    this.timer = setTimeout(() => this.fail(new TransportFailure('total_timeout')), totalTimeoutMs)
  }

  pause(): void {
    if (this.decoder === undefined) this.controller?.pause()
    else this.decoder.pause()
  }

  resume(): void {
    if (this.decoder === undefined) this.controller?.resume()
    else this.decoder.resume()
  }

  cancel(): void {
    if (this.decoder === undefined) this.hangUp()
    else this.decoder.cancel()
  }

  letGo(withinMs: number): void {
    if (this.over) return
    if (this.decoder !== undefined) return this.cancel()
    this.resume()
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.cancel(), withinMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.over) controller.abort(new TransportFailure('cancelled'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (this.over || status < 200) return
    this.headSeen = true
    const { listener } = this
    const view = new HeaderView(headers)
    const coding = view.get('content-encoding')
    const reading: BodyReading =
      coding === undefined ? { headers: view } : readCoded(coding, view, listener, this.wire())
    this.decoder = reading.decoder
    this.listener = reading.decoder ?? listener
    listener.onHead(status, reading.headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.over) this.listener.onData(chunk)
  }

  onResponseEnd(): void {
    if (this.over) return
    const { listener } = this
    this.finish()
    listener.onEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(new TransportFailure(kindOf(error, this.headSeen), { cause: error }))
  }

  private wire(): UpstreamFlow {
    return {
      pause: () => this.controller?.pause(),
      resume: () => this.controller?.resume(),
      cancel: () => this.hangUp(),
    }
  }

  private hangUp(): void {
    if (this.over) return
    this.finish()
    this.controller?.abort(new TransportFailure('cancelled'))
  }

  private fail(failure: TransportFailure): void {
    if (this.over) return
    const { listener } = this
    this.finish()
    if (failure.kind === 'total_timeout') this.controller?.abort(failure)
    listener.onFailure(failure)
  }

  // The client library keeps finished requests for a while; they must not keep everything that belongs to ours.
  private finish(): void {
    this.over = true
    this.listener = NOBODY
    clearTimeout(this.timer)
  }
}

const NO_CALL: UpstreamCall = {
  pause: () => undefined,
  resume: () => undefined,
  cancel: () => undefined,
  letGo: () => undefined,
}

const NOBODY: UpstreamListener = {
  onHead: () => undefined,
  onData: () => undefined,
  onEnd: () => undefined,
  onFailure: () => undefined,
}

class HeaderView implements UpstreamHeaders {
  private readonly headers: IncomingHeaders

  constructor(headers: IncomingHeaders) {
    this.headers = headers
  }

  get(name: string): string | undefined {
    const value = this.headers[name]
    return Array.isArray(value) ? value[0] : value
  }
}

function kindOf(error: Error, headSeen: boolean): FailureKind {
  if (error instanceof errors.ConnectTimeoutError) return 'connect_timeout'
  if (error instanceof errors.HeadersTimeoutError) return 'first_byte_timeout'
  if (error instanceof errors.BodyTimeoutError) return headSeen ? 'idle_timeout' : 'first_byte_timeout'
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) return 'malformed'
  if (error instanceof TunnelError) return 'connect'
  const code: unknown = Reflect.get(error, 'code')
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EHOSTUNREACH')
    return 'connect'
  return 'reset'
}
