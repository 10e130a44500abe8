import { createHash } from 'node:crypto'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { isIpAddress } from '../../../contract/net/ipAddress.ts'
import {
  type Script,
  type ScriptArgument,
  type ScriptKey,
  type ScriptName,
  sourceOf,
} from '../../../contract/wire/scripts.ts'
import { checkDeadlines } from '../../checkDeadlines.ts'
import type { Limits } from '../../limits.ts'
import type { RedisAddress } from './redisAddress.ts'
import { RedisError, type Reply, RespReader } from './respReader.ts'
import { plainCall, scriptCall } from './respWriter.ts'

const READ_BYTES = 65_536
const RECONNECT_DELAY_MS = 50
const RECONNECT_DELAY_MAX_MS = 1_000
const CHECKS_PER_TIMEOUT = 8

interface Call {
  readonly sinceMs: number
  /** The call with the script's source, for a server that does not know the script yet; null when it was sent so. */
  readonly again: (() => string) | null
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}

export interface RedisLinkOptions {
  readonly address: RedisAddress
  readonly limits: Limits
  readonly onFault: (error: unknown) => void
}

/**
 * A connection to Redis for the scripts of the hot path alone: one string and one write for all calls of a turn of the
 * event loop. It restores itself; calls that were under way when it broke are rejected, never sent again, because a
 * script may have run. A server that is late with an answer is given up, and so are all calls behind it.
 */
export class RedisLink {
  private readonly options: RedisLinkOptions
  private readonly watch: NodeJS.Timeout
  private socket: Socket | undefined
  private reader: RespReader
  private ready = false
  private connectingSinceMs = 0
  private closed = false
  private attempts = 0
  private calls: Call[] = []
  private gathered = ''
  private turn: (() => void)[] = []
  private inTurn = false
  private readonly endTurn = (): void => {
    const turn = this.turn
    this.turn = []
    this.inTurn = true
    for (const work of turn) work()
    this.inTurn = false
    this.flush()
  }

  constructor(options: RedisLinkOptions) {
    this.options = options
    this.reader = new RespReader(options.limits.redisReplyBytesMax)
    const everyMs = options.limits.redisTimeoutMs / CHECKS_PER_TIMEOUT
    this.watch = checkDeadlines(everyMs, (nowMs) => this.checkLate(nowMs))
    this.watch.unref()
    this.connect()
  }

  /** A call can be sent now. */
  get connected(): boolean {
    return this.ready
  }

  /** A script of the contract on this connection; it rejects at once while there is none. */
  script(name: ScriptName): Script {
    const source = sourceOf(name)
    const sha = createHash('sha1').update(source).digest('hex')
    return (keys, args) => this.call(sha, source, keys, args)
  }

  /** Has `work` run once the events of this turn are dealt with; all calls that it makes leave in one write. */
  readonly schedule = (work: () => void): void => {
    if (this.turn.push(work) === 1) setImmediate(this.endTurn)
  }

  /** Ends the connection for good; what is under way is rejected. */
  close(): void {
    this.closed = true
    clearInterval(this.watch)
    this.socket?.destroy()
  }

  private call(sha: string, source: string, keys: ScriptKey[], args: ScriptArgument[]): Promise<Reply> {
    if (!this.ready) return Promise.reject(new Error('there is no connection to Redis'))
    return new Promise((resolve, reject) => {
      const again = () => scriptCall('EVAL', Buffer.from(source).toString('latin1'), keys, args)
      this.calls.push({ sinceMs: performance.now(), again, resolve, reject })
      this.send(scriptCall('EVALSHA', sha, keys, args))
    })
  }

  private send(text: string): void {
    // The work of a turn is followed by a flush; any other call leaves on its own.
    if (this.gathered === '' && !this.inTurn) process.nextTick(this.flushLater)
    this.gathered += text
  }

  private readonly flushLater = (): void => this.flush()

  private flush(): void {
    if (this.gathered === '') return
    const text = this.gathered
    this.gathered = ''
    this.socket?.write(text, 'latin1')
  }

  private connect(): void {
    const { address } = this.options
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const received = (bytes: Buffer): void => {
      if (this.socket === socket) this.received(bytes)
    }
    const callback = (length: number): boolean => {
      received(buffer.subarray(0, length))
      return true
    }
    const { host, port, path } = address
    const onread = { buffer, callback }
    const socket = address.tls
      ? connectTls({ host, port, ...(isIpAddress(host) ? {} : { servername: host }) })
      : connectPlain(path === '' ? { host, port, onread } : { path, onread })
    if (address.tls) socket.on('data', received)
    this.socket = socket
    this.connectingSinceMs = performance.now()
    this.reader = new RespReader(this.options.limits.redisReplyBytesMax)
    socket.setNoDelay(true)
    socket.on(address.tls ? 'secureConnect' : 'connect', () => this.greet(socket))
    socket.on('error', (error) => this.options.onFault(error))
    socket.on('close', () => this.lost())
  }

  // Calls are let in behind the greeting: what it answers decides whether the server can be used at all.
  private greet(socket: Socket): void {
    const { user, password, database } = this.options.address
    const commands: string[] = []
    if (password !== '') commands.push(user === '' ? plainCall('AUTH', password) : plainCall('AUTH', user, password))
    if (database !== 0) commands.push(plainCall('SELECT', String(database)))
    commands.push(plainCall('PING'))
    let left = commands.length
    const resolve = (reply: Reply): void => {
      if (reply instanceof RedisError) {
        socket.destroy(reply)
        return
      }
      left--
      if (left > 0) return
      this.ready = true
      this.attempts = 0
    }
    for (const command of commands) {
      this.calls.push({ sinceMs: performance.now(), again: null, resolve, reject: () => {} })
      socket.write(command, 'latin1')
    }
  }

  private received(bytes: Buffer): void {
    try {
      this.reader.push(bytes, (reply) => this.deliver(reply))
    } catch (error) {
      this.socket?.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }

  private deliver(reply: Reply): void {
    const call = this.calls.shift()
    if (call === undefined) throw new Error('Redis answers what it was not asked')
    if (!(reply instanceof RedisError)) call.resolve(reply)
    else if (call.again !== null && reply.message.startsWith('NOSCRIPT')) this.sendAgain(call, call.again())
    else if (call.again === null) call.resolve(reply)
    else call.reject(reply)
  }

  // A script that the server does not know has not run, so this repeats nothing.
  private sendAgain(call: Call, text: string): void {
    const { resolve, reject } = call
    const settle = (reply: Reply): void => (reply instanceof RedisError ? reject(reply) : resolve(reply))
    this.calls.push({ sinceMs: call.sinceMs, again: null, resolve: settle, reject })
    this.send(text)
  }

  private checkLate(nowMs: number): void {
    const sinceMs = this.ready ? this.calls[0]?.sinceMs : this.connectingSinceMs
    if (sinceMs === undefined || nowMs - sinceMs < this.options.limits.redisTimeoutMs) return
    this.socket?.destroy(new Error('Redis did not answer in time; its connection is dropped'))
  }

  private lost(): void {
    this.ready = false
    this.socket = undefined
    this.gathered = ''
    const calls = this.calls
    this.calls = []
    for (const call of calls) call.reject(new Error('the connection to Redis was lost'))
    if (this.closed) return
    this.attempts++
    setTimeout(
      () => {
        if (!this.closed) this.connect()
      },
      Math.min(this.attempts * RECONNECT_DELAY_MS, RECONNECT_DELAY_MAX_MS),
    )
  }
}
