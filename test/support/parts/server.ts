import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { GatewayError } from '../../../contract/errors/errors.ts'
import { readApiKey } from '../../../proxy/access/credential.ts'
import type { Handler, Precheck } from '../../../proxy/server/exchange.ts'
import type { RouteEntry } from '../../../proxy/server/routeTable.ts'
import { Server } from '../../../proxy/server/server.ts'
import { type LimitName, limits } from '../limits.ts'

const POLL_MS = 10
const WAIT_MS = 60_000
/** Turns in which a server of this process has read all that a test sends it. */
const READ_TURNS = 50

/** A server without anything behind it, in the process of the test. */
export interface TestServer {
  readonly server: Server
  readonly port: number
  /** Paths that reached a handler. */
  readonly served: string[]
  /** Rows of the error table that the server itself answered. */
  readonly refused: string[]
}

/** Takes every key for proven. */
const anyKey: Precheck = (head) => {
  try {
    readApiKey(head)
    return 'customer'
  } catch (error) {
    return error as GatewayError
  }
}

/**
 * Starts a server whose POST /echo, /keyed and /open answer what they were sent; /keyed asks early for a credential, and
 * the senders of /open are strangers.
 */
export async function startServer(
  changes: Partial<Record<LimitName, number>> = {},
  routes: readonly RouteEntry[] = [],
): Promise<TestServer> {
  const served: string[] = []
  const refused: string[] = []
  const echo: Handler = (exchange, body) => {
    served.push(exchange.head.path)
    exchange.answer(200, 'text/plain', describe(body))
  }
  const server = new Server({
    routes: [
      { method: 'GET', path: '/served', handler: echo },
      { method: 'POST', path: '/echo', handler: echo, precheck: () => 'customer' },
      { method: 'POST', path: '/open', handler: echo },
      { method: 'POST', path: '/keyed', handler: echo, precheck: anyKey },
      ...routes,
    ],
    limits: { ...limits, ...changes },
    onError: (error) => refused.push(String(error)),
    onFailed: () => undefined,
    onRefusal: (error) => refused.push(error.row),
  })
  return { server, port: await server.listen('127.0.0.1', 0), served, refused }
}

/** Length and hash, by which a body is known again. */
export function describe(bytes: Uint8Array): string {
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`
}

/** A client that sends what a test wants, whether or not it is HTTP. */
export class RawClient {
  text = ''
  closed = false
  readonly socket: Socket

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (data) => {
      this.text += data.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.closed = true
    })
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1')
    const client = new RawClient(socket)
    await once(socket, 'connect')
    return client
  }

  /** Sends bytes and waits until the socket takes more; does nothing on a closed connection. */
  async send(bytes: string | Uint8Array): Promise<void> {
    if (this.closed || this.socket.write(bytes)) return
    await Promise.race([once(this.socket, 'drain'), once(this.socket, 'close')]).catch(() => undefined)
  }

  /** The statuses of the answers so far. */
  statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  }

  /** Waits for so many answers, or for the end of the connection. */
  async answers(count: number): Promise<number[]> {
    await eventually(`${count} answers`, () => this.closed || this.statuses().length >= count)
    return this.statuses()
  }

  leave(): void {
    this.socket.destroy()
  }
}

/** Waits until a condition holds; fails with what was awaited. */
export async function eventually(what: string, holds: () => boolean): Promise<void> {
  const end = Date.now() + WAIT_MS
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`)
    await sleep(POLL_MS)
  }
}

/**
 * Lets the server, which is in this process, read what was sent. It reads in every turn of the event loop; one long pause may
 * be a single turn, where the machine stands still.
 */
export async function readTurns(): Promise<void> {
  for (let turn = 0; turn < READ_TURNS; turn++) await sleep(2)
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/**
 * Bytes that this process cannot free: objects and buffers that something still refers to. The least of several readings,
 * because the memory of buffers is freed by another thread, some time after they were collected.
 */
export async function memoryInUse(): Promise<number> {
  let leastBytes = Number.POSITIVE_INFINITY
  for (let i = 0; i < 6; i++) {
    await sleep(POLL_MS)
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    leastBytes = Math.min(leastBytes, heapUsed + arrayBuffers)
  }
  return leastBytes
}
