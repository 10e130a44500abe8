import type { LookupFunction } from 'node:net'
import type { ForwardProxy } from '../../../contract/net/environmentProxies.ts'
import {
  type FailureKind,
  isPieces,
  piecesBytes,
  slicesOf,
  TransportFailure,
  type UpstreamListener,
  type UpstreamRequest,
} from '../transport/transport.ts'
import type { ResponseHead } from './responseHead.ts'
import { ResponseReader, type ResponseSink } from './responseReader.ts'
import { PlainWire } from './wire/plainWire.ts'
import { type TlsShared, TlsWire } from './wire/tlsWire.ts'
import { TunnelWire } from './wire/tunnelWire.ts'
import type { Wire, WireEnd, WireListener } from './wire/wire.ts'

const AT_ONCE_BYTES = 262_144
const NEVER = Number.POSITIVE_INFINITY

/** The server of connections. */
export interface Origin {
  readonly host: string
  readonly port: number
  /** Absent where the connection is not encrypted. */
  readonly tls?: TlsShared
  /** Resolves and checks the host; the system's resolver where absent. */
  readonly lookup?: LookupFunction
  /** The proxy on the way; absent for none. */
  readonly proxy?: ForwardProxy
}

/** Called when a connection can take another request, or is closed. */
export interface ConnectionOwner {
  onIdle(connection: Connection): void
  onClosed(connection: Connection): void
}

/** One connection to a provider: at most one request at a time, and the deadlines of that request. */
export class Connection implements ResponseSink, WireListener {
  /** Since when the connection waits for a request, or 0 while it has one. */
  idleSinceMs = 0

  private readonly wire: Wire
  private readonly owner: ConnectionOwner
  private readonly reader = new ResponseReader()
  private listener: UpstreamListener | undefined
  private request: UpstreamRequest | undefined
  private open = false
  private closed = false
  private headSeen = false
  private answered = false
  private reusable = false
  /** Parts of the request are not even handed to the socket yet. */
  private unsent = false
  private paused = false
  private startedAtMs = 0
  private lastByteMs = 0
  /** Until when the end of an answer is awaited that nobody wants more of. */
  private letGoUntilMs = NEVER

  constructor(endpoint: Origin, owner: ConnectionOwner) {
    this.owner = owner
    this.wire = newWire(endpoint, this)
  }

  /** Sends a request. The connection must have none. */
  send(request: UpstreamRequest, listener: UpstreamListener, nowMs: number): void {
    this.request = request
    this.listener = listener
    this.headSeen = false
    this.answered = false
    this.unsent = false
    this.idleSinceMs = 0
    this.startedAtMs = nowMs
    this.lastByteMs = nowMs
    this.letGoUntilMs = NEVER
    this.reader.restart()
    if (this.open || this.wire.isReady) this.writeRequest(request)
  }

  pause(): void {
    this.paused = true
    this.wire.pause()
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.lastByteMs = performance.now()
    this.wire.resume()
  }

  /** Ends the connection unless its answer ends before `untilMs`, of performance.now(). */
  letGo(untilMs: number): void {
    this.letGoUntilMs = untilMs
  }

  /** Ends the connection; its listener is not called any more. */
  destroy(): void {
    this.listener = undefined
    this.request = undefined
    this.wire.destroy()
    this.release()
  }

  /** Fails the request when one of its deadlines has passed. */
  check(nowMs: number): void {
    const { request } = this
    if (request === undefined) return
    if (nowMs >= this.letGoUntilMs) this.destroy()
    else if (nowMs >= this.startedAtMs + request.totalTimeoutMs) this.fail('total_timeout')
    else if (!this.open && nowMs >= this.startedAtMs + request.connectTimeoutMs) this.fail('connect_timeout')
    else if (!this.headSeen && nowMs >= this.startedAtMs + request.firstByteTimeoutMs) this.fail('first_byte_timeout')
    else if (this.headSeen && nowMs >= this.idleDeadline(request)) this.fail('idle_timeout')
  }

  onResponseHead(head: ResponseHead): void {
    this.headSeen = true
    this.listener?.onHead(head.status, head)
  }

  onResponseBody(bytes: Buffer): void {
    this.listener?.onData(bytes)
  }

  onResponseEnd(keepAlive: boolean): void {
    this.answered = true
    this.reusable = keepAlive
  }

  onConnected(): void {
    this.open = true
    this.lastByteMs = performance.now()
    if (!this.wire.isReady && this.request !== undefined) this.writeRequest(this.request)
  }

  onBytes(bytes: Buffer): void {
    // Unexpected bytes: they must not be taken for the answer to a later request.
    if (this.request === undefined) {
      this.destroy()
      return
    }
    this.lastByteMs = performance.now()
    const sound = this.reader.push(bytes, this)
    if (this.closed) return
    if (this.answered) this.finish(sound)
    else if (!sound) this.fail('malformed')
  }

  onEnd(): void {
    if (this.request !== undefined && this.reader.close(this) && !this.closed) this.finish(false)
    this.onBroken(undefined)
  }

  onBroken(error: Error | undefined): void {
    if (this.request !== undefined) this.fail(!this.open && error !== undefined ? 'connect' : 'reset', error)
    else this.destroy()
  }

  // A reader that is paused by its client does not make the provider slow.
  private idleDeadline(request: UpstreamRequest): number {
    return this.paused ? NEVER : this.lastByteMs + request.idleTimeoutMs
  }

  private writeRequest(request: UpstreamRequest): void {
    if (isPieces(request.body)) this.writePieces(request, request.body)
    else this.write(request, request.body)
  }

  private write(request: UpstreamRequest, body: Buffer | string | null): void {
    const start = head(request)
    const { socket } = this.wire
    if (body === null) socket.write(`${start}\r\n`, 'latin1')
    else if (typeof body === 'string') {
      const bytes = Buffer.byteLength(body)
      // Text with one byte per character is written without encoding it.
      const encoding = bytes === body.length ? 'latin1' : 'utf8'
      socket.write(`${start}content-length: ${bytes}\r\n\r\n${body}`, encoding)
    } else {
      socket.write(Buffer.concat([Buffer.from(`${start}content-length: ${body.length}\r\n\r\n`, 'latin1'), body]))
    }
  }

  private writePieces(request: UpstreamRequest, pieces: readonly Buffer[]): void {
    const bytes = piecesBytes(pieces)
    const { socket } = this.wire
    socket.cork()
    socket.write(`${head(request)}content-length: ${bytes}\r\n\r\n`, 'latin1')
    if (bytes <= AT_ONCE_BYTES) for (const piece of pieces) socket.write(piece)
    else this.writeSlices(request, slicesOf(pieces))
    socket.uncork()
  }

  /** Writes a slice when the one before it has left, so that no turn of the event loop has much to write. */
  private writeSlices(request: UpstreamRequest, slices: Iterator<Buffer, void>): void {
    if (this.request !== request) return
    const { done, value } = slices.next()
    this.unsent = done !== true
    if (done !== true) this.wire.socket.write(value, () => this.writeSlices(request, slices))
  }

  // The connection is handed on before the listener learns of the end, and only once the whole read was checked: bytes after
  // an answer would otherwise be read as the next answer.
  private finish(sound: boolean): void {
    const { listener } = this
    this.listener = undefined
    this.request = undefined
    if (this.paused) this.resume()
    if (!sound || !this.reusable || this.unsent) this.destroy()
    else if (this.wire.socket.writableLength === 0) this.owner.onIdle(this)
    else setImmediate(() => this.rest())
    listener?.onEnd()
  }

  // TLS reports a completed write one turn late, when the answer may already be there.
  private rest(): void {
    if (this.closed) return
    if (this.wire.socket.writableLength === 0) this.owner.onIdle(this)
    else this.destroy()
  }

  private fail(kind: FailureKind, cause?: Error): void {
    const { listener } = this
    this.listener = undefined
    this.request = undefined
    this.wire.destroy()
    this.release()
    listener?.onFailure(new TransportFailure(kind, cause === undefined ? undefined : { cause }))
  }

  private release(): void {
    if (this.closed) return
    this.closed = true
    this.owner.onClosed(this)
  }
}

function newWire(endpoint: Origin, listener: WireListener): Wire {
  const { tls, proxy } = endpoint
  const wireTo = (end: WireEnd): Wire =>
    tls === undefined ? new PlainWire(end, listener) : new TlsWire(end, tls, listener)
  if (proxy === undefined) return wireTo(endpoint)
  return new TunnelWire(proxy, endpoint, listener, (socket) => wireTo({ ...endpoint, socket }))
}

/** The head of a request, but for the length of its body and the empty line. */
function head({ method, path, host, headers, requestId, traceHeaders }: UpstreamRequest): string {
  const start = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  const fields = traceHeaders === undefined ? headers.text : headers.text + traceHeaders.text
  return `${start}${fields}x-request-id: ${requestId}\r\n`
}
