import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Who sends: whoever connected to the relay, or the server behind it. */
export type Side = 'client' | 'server'

interface Kept {
  readonly from: Socket
  readonly to: Socket
  readonly bytes: Buffer
}

/** A port of its own that leads to another one, and keeps what one side sends for as long as a test wants. */
export class Relay {
  /** Where it leads to; connections that stand stay where they are. */
  targetPort: number
  /** Sees all bytes as they come. */
  onBytes: ((side: Side, bytes: Buffer) => void) | undefined
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private readonly holding = new Set<Side>()
  private readonly kept = new Map<Side, Kept[]>([
    ['client', []],
    ['server', []],
  ])

  private constructor(targetPort: number) {
    this.targetPort = targetPort
    this.server = createServer({ noDelay: true }, (client) => this.join(client))
  }

  /** @param targetPort of this machine; 0 for one that is set later */
  static async start(targetPort = 0): Promise<Relay> {
    const relay = new Relay(targetPort)
    relay.server.listen(0, '127.0.0.1')
    await once(relay.server, 'listening')
    return relay
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Keeps what a side sends from now on. */
  hold(side: Side): void {
    this.holding.add(side)
  }

  /** Bytes of a side that are kept. */
  keptBytes(side: Side): number {
    return this.keptOf(side).reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  /** Passes on what was kept, and all that comes. */
  release(): void {
    this.holding.clear()
    for (const side of this.kept.keys()) {
      for (const { to, bytes } of this.keptOf(side).splice(0)) to.write(bytes)
    }
  }

  /** Breaks every connection; what was kept is never passed on. */
  breakAll(): void {
    this.holding.clear()
    for (const kept of this.kept.values()) kept.length = 0
    for (const socket of this.sockets) socket.destroy()
  }

  async stop(): Promise<void> {
    this.breakAll()
    this.server.close()
    await once(this.server, 'close')
  }

  private keptOf(side: Side): Kept[] {
    return this.kept.get(side) ?? []
  }

  private join(client: Socket): void {
    const server = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true })
    this.pass(client, server, 'client')
    this.pass(server, client, 'server')
  }

  private pass(from: Socket, to: Socket, side: Side): void {
    this.sockets.add(from)
    from.on('data', (bytes) => {
      this.onBytes?.(side, bytes)
      if (this.holding.has(side)) this.keptOf(side).push({ from, to, bytes })
      else to.write(bytes)
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      this.sockets.delete(from)
      // The end of a connection is kept as its bytes are: the other side hears of it once it has them.
      if (!this.keptOf(side).some((kept) => kept.from === from)) to.destroy()
    })
  }
}
