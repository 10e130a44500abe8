import { createSecureContext, type SecureContext } from 'node:tls'
import { portOf, withoutBrackets } from '../../contract/net/ipAddress.ts'
import { isForbiddenHost, publicLookup } from '../../contract/net/publicLookup.ts'
import type { Reach } from '../../contract/providers/reach.ts'
import { RestingChecks } from '../restingChecks.ts'
import { type BodyDecoder, readCoded } from './bodyDecoder.ts'
import type { Connection, Origin } from './h1/connection.ts'
import { ConnectionPool } from './h1/pool.ts'
import { TlsSessions } from './h1/wire/tlsSessions.ts'
import type { TlsShared } from './h1/wire/tlsWire.ts'
import type { UpstreamLimits } from './limits.ts'
import {
  poolName,
  type Transport,
  TransportFailure,
  type UpstreamCall,
  type UpstreamFlow,
  type UpstreamHeaders,
  type UpstreamListener,
  type UpstreamRequest,
} from './transport/transport.ts'

/** Deadlines are checked this often, for all requests together, instead of by a timer each. */
const CHECK_MS = 50
/** While there is none, for connections that have been idle for long. */
const IDLE_CHECK_MS = 1_000

/** The transport of the hot path: HTTP/1.1 over kept connections, read into memory that all of them share. */
export class SocketTransport implements Transport {
  private readonly limits: UpstreamLimits
  private readonly pools = new Map<string, ConnectionPool>()
  private readonly checks: RestingChecks
  private readonly tls: TlsShared

  /** @param context has the trusted certificates; by default those that Node.js trusts */
  constructor(limits: UpstreamLimits, context: SecureContext = createSecureContext()) {
    this.limits = limits
    this.tls = { context, prefix: '', sessions: new TlsSessions(limits) }
    this.checks = new RestingChecks({ everyMs: CHECK_MS, restMs: IDLE_CHECK_MS, check: (nowMs) => this.check(nowMs) })
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    const connection = this.poolOf(request)?.take(request.fresh)
    if (connection === undefined) {
      setImmediate(() => listener.onFailure(new TransportFailure('connect')))
      return NO_CALL
    }
    this.checks.wake()
    const call = new SocketCall(connection, listener)
    connection.send(request, call, performance.now())
    return call
  }

  close(): Promise<void> {
    this.checks.stop()
    for (const pool of this.pools.values()) pool.destroy()
    return Promise.resolve()
  }

  /** @returns whether a request is under way */
  private check(nowMs: number): boolean {
    let isBusy = false
    for (const [name, pool] of this.pools) {
      pool.check(nowMs)
      if (pool.isBusy) isBusy = true
      // Others take its place when a file of certificates has changed.
      if (pool.isEmpty) this.pools.delete(name)
    }
    return isBusy
  }

  /** @returns undefined for an address that must not be connected to */
  private poolOf(request: UpstreamRequest): ConnectionPool | undefined {
    const { origin, publicOnly, reach } = request
    const name = poolName(request)
    const known = this.pools.get(name)
    if (known !== undefined) return known
    const url = new URL(origin)
    if (publicOnly === true && isForbiddenHost(url.hostname)) return undefined
    const { connectionsPerProviderMax: connectionsMax, connectionIdleMs: idleMs } = this.limits
    const endpoint = this.endpointOf(url, publicOnly === true, reach)
    const pool = new ConnectionPool({ endpoint, connectionsMax, idleMs })
    this.pools.set(name, pool)
    return pool
  }

  private endpointOf(url: URL, publicOnly: boolean, reach: Reach | undefined): Origin {
    const end = { host: withoutBrackets(url.hostname), port: portOf(url) }
    const way = publicOnly ? { lookup: publicLookup() } : reach?.proxy === undefined ? {} : { proxy: reach.proxy }
    return url.protocol === 'https:' ? { ...end, tls: this.tlsOf(reach), ...way } : { ...end, ...way }
  }

  private tlsOf(reach: Reach | undefined): TlsShared {
    if (reach === undefined) return this.tls
    const { context = this.tls.context, name } = reach
    return { context, prefix: `${name} `, sessions: this.tls.sessions }
  }
}

// A connection serves other requests after this one has ended, so the call releases it then.
class SocketCall implements UpstreamCall, UpstreamListener {
  private connection: Connection | undefined
  private listener: UpstreamListener
  private decoder: BodyDecoder | undefined

  constructor(connection: Connection, listener: UpstreamListener) {
    this.connection = connection
    this.listener = listener
  }

  pause(): void {
    if (this.decoder === undefined) this.connection?.pause()
    else this.decoder.pause()
  }

  resume(): void {
    if (this.decoder === undefined) this.connection?.resume()
    else this.decoder.resume()
  }

  cancel(): void {
    if (this.decoder === undefined) this.hangUp()
    else this.decoder.cancel()
  }

  letGo(withinMs: number): void {
    // The rest of a coded body is not worth decoding.
    if (this.decoder !== undefined) return this.cancel()
    this.resume()
    this.connection?.letGo(performance.now() + withinMs)
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    const coding = headers.get('content-encoding')
    if (coding === undefined) this.listener.onHead(status, headers)
    else this.onCodedHead(status, headers, coding)
  }

  onData(bytes: Buffer): void {
    this.listener.onData(bytes)
  }

  onEnd(): void {
    this.connection = undefined
    this.listener.onEnd()
  }

  onFailure(failure: TransportFailure): void {
    this.connection = undefined
    this.listener.onFailure(failure)
  }

  private onCodedHead(status: number, headers: UpstreamHeaders, coding: string): void {
    const wire: UpstreamFlow = {
      pause: () => this.connection?.pause(),
      resume: () => this.connection?.resume(),
      cancel: () => this.hangUp(),
    }
    const { listener } = this
    const reading = readCoded(coding, headers, listener, wire)
    this.decoder = reading.decoder
    this.listener = reading.decoder ?? listener
    listener.onHead(status, reading.headers)
  }

  private hangUp(): void {
    const { connection } = this
    this.connection = undefined
    connection?.destroy()
  }
}

const NO_CALL: UpstreamCall = {
  pause: () => undefined,
  resume: () => undefined,
  cancel: () => undefined,
  letGo: () => undefined,
}
