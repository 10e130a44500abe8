// A relay and nothing else, on the parts that the gateway is made of: an HTTP server that takes a request, a socket of
// Node.js that reads into shared memory, the reader of answers. It authenticates nothing, holds nothing and does not look
// at events: the least that these parts cost. `node dist/bench/bare.js --upstream PORT --tls-upstream PORT`
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { parseArgs } from 'node:util'
import { type HttpResponse, type ListenSocket, listenerPort, newApp } from '../proxy/server/uws.ts'
import type { ResponseHead } from '../proxy/upstream/h1/responseHead.ts'
import { ResponseReader, type ResponseSink } from '../proxy/upstream/h1/responseReader.ts'

const HOST = '127.0.0.1'
const TLS_HOST = 'localhost'
const READ_BYTES = 65_536

const { values } = parseArgs({
  options: { upstream: { type: 'string', default: '0' }, 'tls-upstream': { type: 'string', default: '0' } },
})
const sharedRead = Buffer.allocUnsafe(READ_BYTES)
type OnRead = NonNullable<NetConnectOpts['onread']>
type Dial = (onread: OnRead) => Socket
const dialPlain: Dial = (onread) => connect({ host: HOST, port: Number(values.upstream), onread })
// The types leave out that a connection by TLS takes this option too.
const dialTls: Dial = (onread) =>
  connectTls({ host: TLS_HOST, port: Number(values['tls-upstream']), servername: TLS_HOST, ...{ onread } })

/** A connection to the upstream, for one request at a time. */
class Relay implements ResponseSink {
  private readonly socket: Socket
  private readonly idle: Set<Relay>
  private readonly reader = new ResponseReader()
  private res: HttpResponse | null = null
  private head: ResponseHead | null = null
  private headDue = true
  private outgoing: Buffer = sharedRead
  private readonly corked = (): void => {
    if (this.headDue) this.res?.writeHeader('content-type', this.head?.get('content-type') ?? '')
    this.headDue = false
    if (this.head?.framing === 'length') this.res?.end(this.outgoing)
    else this.res?.write(this.outgoing)
  }

  constructor(dial: Dial, idle: Set<Relay>) {
    this.idle = idle
    const callback = (length: number): boolean => {
      if (!this.reader.push(sharedRead.subarray(0, length), this)) throw new Error('the answer cannot be read')
      return true
    }
    this.socket = dial({ buffer: sharedRead, callback })
    this.socket.setNoDelay(true)
    this.socket.on('error', () => this.res?.close())
    // An upstream closes connections that were idle for long.
    this.socket.on('close', () => this.idle.delete(this))
  }

  send(res: HttpResponse, body: Buffer): void {
    this.res = res
    this.headDue = true
    this.reader.restart()
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: ${HOST}\r\ncontent-type: application/json\r\n`
    this.socket.write(`${head}content-length: ${body.length}\r\n\r\n${body.toString('latin1')}`, 'latin1')
  }

  /** The client has gone; what is still to come is read and dropped. */
  leave(): void {
    this.res = null
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
