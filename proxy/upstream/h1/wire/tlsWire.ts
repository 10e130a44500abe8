import { isIP, type NetConnectOpts } from 'node:net'
import { type ConnectionOptions, connect, type SecureContext, type TLSSocket } from 'node:tls'
import type { KeptSession, TlsSessions } from './tlsSessions.ts'
import { type TurnReader, TurnReads } from './turnReads.ts'
import type { Wire, WireEnd, WireListener } from './wire.ts'

const reads = new TurnReads()

/** State shared by TLS connections. */
export interface TlsShared {
  /** The certificates that they trust, and those that they show. */
  readonly context: SecureContext
  /** Begins the names of their sessions: one that was made with other certificates is not resumed. */
  readonly prefix: string
  readonly sessions: TlsSessions
}

/** A connection by TLS to a host that has shown a certificate for its name. */
export class TlsWire implements Wire, TurnReader {
  readonly isReady = true
  readonly socket: TLSSocket
  private readonly sessions: TlsSessions
  private readonly address: string
  private readonly listener: WireListener
  private readonly resumed: KeptSession | undefined
  private secure = false
  private paused = false
  /** Bytes decrypted while the wire is paused. */
  private held: Buffer[] = []
  /** The peer has ended the connection, and the listener does not know it yet. */
  private endDue = false
  private destroyed = false

  constructor(end: WireEnd, { context, prefix, sessions }: TlsShared, listener: WireListener) {
    this.sessions = sessions
    this.listener = listener
    this.address = `${prefix}${end.host}:${end.port}`
    this.resumed = sessions.take(this.address, Date.now())
    const callback = (length: number): boolean => {
      reads.add(this, length)
      return true
    }
    this.socket = connect(connectionOptions(end, context, this.resumed, { buffer: reads.record, callback }))
    // Over a socket that is there already, Node.js has no use for `onread`.
    if (end.socket !== undefined) this.socket.on('data', (bytes: Buffer) => reads.addAll(this, bytes))
    this.socket.setNoDelay(true)
    this.socket.on('session', (session: Buffer) => sessions.keep(this.address, session, this.provenUntilMs()))
    this.socket.on('secureConnect', () => this.connected())
    this.socket.on('end', () => this.end())
    this.socket.on('error', (error) => this.broke(error))
    this.socket.on('close', () => this.broke(undefined))
  }

  // Bytes that were read earlier in this turn are held as well: they arrive through `onTurn`.
  pause(): void {
    this.paused = true
    this.socket.pause()
  }

  // Resuming does not call the reader back immediately, and the socket is read again only when nothing is held any more.
  resume(): void {
    this.paused = false
    if (this.held.length > 0 || this.endDue) setImmediate(() => this.release())
    else this.socket.resume()
  }

  destroy(): void {
    this.destroyed = true
    reads.drop(this)
    this.held = []
    this.endDue = false
    this.socket.destroy()
  }

  onTurn(bytes: Buffer): void {
    if (this.paused || this.held.length > 0) this.held.push(Buffer.from(bytes))
    else this.listener.onBytes(bytes)
  }

  private release(): void {
    if (this.paused || this.destroyed) return
    const { held } = this
    this.held = []
    if (held.length > 0) this.listener.onBytes(Buffer.concat(held))
    if (this.paused || this.destroyed) return
    if (!this.endDue) {
      this.socket.resume()
      return
    }
    this.endDue = false
    this.listener.onEnd()
  }

  private connected(): void {
    this.secure = true
    this.listener.onConnected()
  }

  private end(): void {
    reads.finish(this)
    if (this.paused || this.held.length > 0) this.endDue = true
    else this.listener.onEnd()
  }

  private broke(error: Error | undefined): void {
    reads.finish(this)
    if (!this.secure && this.resumed !== undefined) this.sessions.drop(this.address, this.resumed)
    // Node.js closes a socket whose peer has ended it; the listener is called with that end instead.
    if (!this.endDue) this.listener.onBroken(error)
  }

  private provenUntilMs(): number {
    if (this.resumed !== undefined && this.socket.isSessionReused()) return this.resumed.untilMs
    return this.sessions.provenUntilMs(Date.now(), Date.parse(this.socket.getPeerCertificate().valid_to))
  }
}

// The certificate is checked even under NODE_TLS_REJECT_UNAUTHORIZED=0: the request contains the provider's key.
function connectionOptions(
  { host, port, lookup, socket }: WireEnd,
  secureContext: SecureContext,
  resumed: KeptSession | undefined,
  onread: NetConnectOpts['onread'],
): ConnectionOptions & Pick<NetConnectOpts, 'onread'> {
  return {
    host,
    port,
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(lookup && { lookup }),
    ...(socket && { socket }),
    ...(resumed === undefined ? {} : { session: resumed.session }),
    // The types leave out that connections by TLS take this option as well.
    onread,
  }
}
