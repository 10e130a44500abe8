// A relay and nothing else, on the parts that the gateway is made of: an HTTP server that takes a request, a wire that
// reads into shared memory, with or without TLS, the reader of answers. It authenticates nothing, holds nothing and does not look
// at events: the least that these parts cost. `node dist/bench/bare.js --upstream PORT --tls-upstream PORT`
import { createSecureContext } from 'node:tls'
import { parseArgs } from 'node:util'
import { readLimits } from '../proxy/limits.ts'
import { type HttpResponse, type ListenSocket, listenerPort, newApp } from '../proxy/server/uws.ts'
import type { ResponseHead } from '../proxy/upstream/h1/responseHead.ts'
import { ResponseReader, type ResponseSink } from '../proxy/upstream/h1/responseReader.ts'
import { PlainWire } from '../proxy/upstream/h1/wire/plainWire.ts'
import { TlsSessions } from '../proxy/upstream/h1/wire/tlsSessions.ts'
import { TlsWire } from '../proxy/upstream/h1/wire/tlsWire.ts'
import type { Wire, WireListener } from '../proxy/upstream/h1/wire/wire.ts'

const HOST = '127.0.0.1'
const TLS_HOST = 'localhost'

const { values } = parseArgs({
  options: { upstream: { type: 'string', default: '0' }, 'tls-upstream': { type: 'string', default: '0' } },
})
const NO_BYTES = Buffer.alloc(0)
type Dial = (listener: WireListener) => Wire
const dialPlain: Dial = (listener) => new PlainWire({ host: HOST, port: Number(values.upstream) }, listener)
const tls = { context: createSecureContext(), prefix: '', sessions: new TlsSessions(readLimits(undefined)) }
const tlsEnd = { host: TLS_HOST, port: Number(values['tls-upstream']) }
const dialTls: Dial = (listener) => new TlsWire(tlsEnd, tls, listener)

/** A connection to the upstream, for one request at a time. */
class Relay implements ResponseSink, WireListener {
  private readonly wire: Wire
  private readonly idle: Set<Relay>
  private readonly reader = new ResponseReader()
  private res: HttpResponse | null = null
  private head: ResponseHead | null = null
  private headDue = true
  private outgoing: Buffer = NO_BYTES
  private readonly corked = (): void => {
    if (this.headDue) this.res?.writeHeader('content-type', this.head?.get('content-type') ?? '')
    this.headDue = false
    if (this.head?.framing === 'length') this.res?.end(this.outgoing)
    else this.res?.write(this.outgoing)
  }

  constructor(dial: Dial, idle: Set<Relay>) {
    this.idle = idle
    this.wire = dial(this)
  }

  send(res: HttpResponse, body: Buffer): void {
    this.res = res
    this.headDue = true
    this.reader.restart()
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: ${HOST}\r\ncontent-type: application/json\r\n`
    this.wire.socket.write(`${head}content-length: ${body.length}\r\n\r\n${body.toString('latin1')}`, 'latin1')
  }

  /** The client has disconnected; the rest of the answer is read and dropped. */
  leave(): void {
    this.res = null
  }

  onConnected(): void {}

  onBytes(bytes: Buffer): void {
    if (!this.reader.push(bytes, this)) throw new Error('the answer cannot be read')
  }

  // An upstream closes connections that were idle for long.
  onEnd(): void {
    this.wire.destroy()
  }

  onBroken(): void {
    this.idle.delete(this)
    this.res?.close()
  }

  onResponseHead(head: ResponseHead): void {
    this.head = head
  }

  onResponseBody(bytes: Buffer): void {
    this.outgoing = bytes
    this.res?.cork(this.corked)
  }

  onResponseEnd(): void {
    const { res } = this
    if (this.head?.framing !== 'length') res?.cork(() => res.end())
    this.res = null
    this.idle.add(this)
  }
}

/** Passes requests on over connections that are made in one way. */
function serveBy(dial: Dial): (res: HttpResponse) => void {
  const idle = new Set<Relay>()
  return (res) => {
    let body: Buffer = Buffer.alloc(0)
    let relay: Relay | undefined
    res.onAborted(() => relay?.leave())
    res.onData((part, last) => {
      body = Buffer.concat([body, Buffer.from(part)])
      if (!last) return
      const [waiting] = idle
      relay = waiting ?? new Relay(dial, idle)
      idle.delete(relay)
      relay.send(res, body)
    })
  }
}

/** Listens on a free port, which it resolves with. */
function listen(dial: Dial): Promise<number> {
  return new Promise((resolve) => {
    newApp()
      .post('/*', serveBy(dial))
      .listen(HOST, 0, (socket) => {
        if (socket === false) process.exit(1)
        resolve(listenerPort(socket as unknown as ListenSocket))
      })
  })
}

process.send?.({ ready: { port: await listen(dialPlain), tlsPort: await listen(dialTls) } })
process.on('SIGTERM', () => process.exit(0))
process.on('disconnect', () => process.exit(0))
