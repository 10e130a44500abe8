import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

const OK = '+OK\r\n'
const bulks = (...texts: string[]): string =>
  `*${texts.length}\r\n${texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`

/** A Sentinel that names the master it is told to, when it is told to, and announces what it is told to. */
export class FakeSentinel {
  /** Clients that asked for the master and wait for the answer. */
  readonly asking: Socket[] = []
  /** Whether those who ask wait for `answer`. */
  isSilent = false
  private readonly masterPort: number
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private readonly subscribers = new Set<Socket>()

  private constructor(masterPort: number) {
    this.masterPort = masterPort
    this.server = createServer((socket) => this.serve(socket))
  }

  static async start(masterPort: number): Promise<FakeSentinel> {
    const sentinel = new FakeSentinel(masterPort)
    sentinel.server.listen(0, '127.0.0.1')
    await once(sentinel.server, 'listening')
    return sentinel
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Clients that hear of another master. */
  get listeners(): number {
    return this.subscribers.size
  }

  /** Says that there is another master. */
  announce(): void {
    for (const socket of this.subscribers) socket.write(bulks('message', '+switch-master', 'sluice'))
  }

  /** Names the master to all who wait. */
  answer(): void {
    for (const socket of this.asking.splice(0)) this.nameMaster(socket)
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
    await once(this.server, 'close')
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      this.sockets.delete(socket)
      this.subscribers.delete(socket)
    })
    socket.on('data', (data) => {
      for (const command of String(data)
        .split(/^\*\d+\r\n/m)
        .slice(1))
        this.run(socket, command)
    })
  }

  private run(socket: Socket, command: string): void {
    if (/subscribe/i.test(command)) {
      this.subscribers.add(socket)
      socket.write('*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n')
    } else if (/get-master-addr-by-name/i.test(command)) {
      if (this.isSilent) this.asking.push(socket)
      else this.nameMaster(socket)
    } else socket.write(/sentinels/i.test(command) ? '*0\r\n' : OK)
  }

  private nameMaster(socket: Socket): void {
    socket.write(bulks('127.0.0.1', String(this.masterPort)))
  }
}
