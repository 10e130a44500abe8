import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Certificate } from '../../../mock/certificate.ts'

/** What a server does when the head of a request has come. `raw` is the connection below TLS. */
export type Play = (socket: TLSSocket, path: string, raw: Socket) => void

/** A server in the test's own process that ends TLS itself, so that a test can break the connection below. */
export class TlsServer {
  /** Of each handshake, whether it went on with an earlier session. */
  readonly resumed: boolean[] = []
  /** All that clients have sent. */
  received = ''
  private readonly server: Server
  private readonly sockets = new Set<Socket>()

  constructor(certificate: Certificate, play: Play) {
    const secureContext = createSecureContext(certificate)
    this.server = createServer((raw) => {
      const socket = new TLSSocket(raw, { isServer: true, secureContext })
      this.sockets.add(raw)
      raw.setNoDelay(true)
      for (const end of [raw, socket]) end.on('error', () => undefined)
      raw.on('close', () => this.sockets.delete(raw))
      socket.on('secure', () => this.resumed.push(socket.isSessionReused()))
      let seen = ''
      socket.on('data', (data: Buffer) => {
        this.received += data.toString('latin1')
        seen += data.toString('latin1')
        for (let end = seen.indexOf('\r\n\r\n'); end >= 0; end = seen.indexOf('\r\n\r\n')) {
          const path = seen.split(' ')[1] ?? ''
          seen = seen.slice(end + 4)
          play(socket, path, raw)
        }
      })
    })
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
  }

  /** Breaks every connection. */
  dropAll(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.dropAll()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
