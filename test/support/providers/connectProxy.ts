import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Certificate } from '../../../mock/certificate.ts'

export interface ConnectProxyOptions {
  /** user:password that it wants; absent for nobody's. */
  login?: string
  /** The answer to every CONNECT, in place of a tunnel. */
  answer?: string
  /** Its certificate; absent for a proxy without TLS. */
  readonly certificate?: Certificate
}

/** A forward proxy that knows every name ending in .test as this machine. */
export class ConnectProxy {
  /** The targets that it was asked for, HOST:PORT. */
  readonly asked: string[] = []
  /** Changes count for tunnels to come. */
  readonly options: ConnectProxyOptions
  private readonly server: Server
  private readonly sockets = new Set<Socket>()

  private constructor(options: ConnectProxyOptions) {
    this.options = options
    const { certificate } = options
    const serve = (client: Socket): void => this.serve(client)
    this.server = certificate === undefined ? createServer(serve) : createTlsServer(certificate, serve)
    this.server.on('tlsClientError', () => undefined)
  }

  static async start(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options)
    proxy.server.listen(0, '127.0.0.1')
    await once(proxy.server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private serve(client: Socket): void {
    this.watch(client)
    let head = ''
    const read = (bytes: Buffer): void => {
      head += bytes.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      client.off('data', read)
      this.answer(client, head)
    }
    client.on('data', read)
  }

  private answer(client: Socket, head: string): void {
    const { login, answer } = this.options
    const [method, target = ''] = head.split(' ')
    this.asked.push(target)
    const wanted = login === undefined ? '' : `proxy-authorization: Basic ${Buffer.from(login).toString('base64')}\r\n`
    if (method !== 'CONNECT') client.end('HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n')
    else if (!head.includes(wanted)) client.end('HTTP/1.1 407 Who\r\nproxy-authenticate: Basic\r\n\r\n')
    else if (answer !== undefined) client.end(answer)
    else this.join(client, target)
  }

  private join(client: Socket, target: string): void {
    const { hostname, port } = new URL(`http://${target}`)
    const server = connect({ host: hostname.endsWith('.test') ? '127.0.0.1' : hostname, port: Number(port || 80) })
    this.watch(server)
    server.on('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(server).pipe(client)
    })
    server.on('error', () => client.end('HTTP/1.1 502 Bad gateway\r\n\r\n'))
    client.on('close', () => server.destroy())
  }

  private watch(socket: Socket): void {
    this.sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => this.sockets.delete(socket))
  }
}
