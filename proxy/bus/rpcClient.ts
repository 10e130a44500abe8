import type { Redis } from 'ioredis'
import { type ErrorCode, GatewayError, isErrorCode } from '../../control/contract/errors.ts'
import { sluice } from '../../control/contract/generated/messages.js'
import type { Limits } from '../../control/contract/limits.ts'
import { RPC_READS_STREAM, RPC_STREAM, rpcReplyChannel } from '../../control/contract/redisKeys.ts'
import { rpcStreamOf } from '../../control/contract/rpcStreams.ts'

interface Lane {
  readonly stream: string
  readonly pendingMax: number
  pending: number
}

interface Waiting {
  readonly lane: Lane
  readonly resolve: (payload: Uint8Array) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** Control did not answer: it is down, restarting, or Redis is. Callers decide what that means to their client. */
export class ControlUnavailable extends Error {
  constructor(operation: string, options?: ErrorOptions) {
    super(`control did not answer ${operation}`, options)
  }
}

export interface RpcClientOptions {
  readonly commands: Redis
  /** A connection of its own, because a subscribed connection takes no other commands. */
  readonly subscriber: Redis
  readonly owner: string
  readonly limits: Limits
}

/** Calls control over the `rpc` streams; answers come back on a channel of this process. */
export class RpcClient {
  private readonly commands: Redis
  private readonly subscriber: Redis
  private readonly channel: string
  private readonly limits: Limits
  private readonly waiting = new Map<number, Waiting>()
  private readonly calls: Lane
  /** Apart from the calls, so that no number of reads leaves those without a place. */
  private readonly reads: Lane
  private nextId = 1

  constructor(options: RpcClientOptions) {
    this.commands = options.commands
    this.subscriber = options.subscriber
    this.channel = rpcReplyChannel(options.owner)
    this.limits = options.limits
    const pendingMax = options.limits.rpcPendingMax / 2
    this.calls = { stream: RPC_STREAM, pendingMax, pending: 0 }
    this.reads = { stream: RPC_READS_STREAM, pendingMax, pending: 0 }
  }

  /** Subscribes to the answers; ioredis renews the subscription after a lost connection. */
  async start(): Promise<void> {
    const own = Buffer.from(this.channel)
    this.subscriber.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      if (channel.equals(own)) this.answered(message)
    })
    await this.subscriber.subscribe(this.channel)
  }

  /**
   * Calls an operation of control.
   * @returns the answer's payload
   * @throws GatewayError with the code that control answered; ControlUnavailable when there was no answer in time
   */
  async call(operation: string, payload: Uint8Array): Promise<Uint8Array> {
    const lane = rpcStreamOf(operation) === RPC_STREAM ? this.calls : this.reads
    if (lane.pending >= lane.pendingMax) throw new ControlUnavailable(operation)
    const id = this.nextId++
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      const timer = setTimeout(
        () => this.settle(id)?.reject(new ControlUnavailable(operation)),
        this.limits.rpcTimeoutMs,
      )
      this.waiting.set(id, { lane, resolve, reject, timer })
      lane.pending++
    })
    this.send(lane.stream, id, operation, payload).catch((cause: unknown) => {
      this.settle(id)?.reject(new ControlUnavailable(operation, { cause }))
    })
    return answer
  }

  /** Ends every call that waits. */
  stop(): void {
    for (const id of [...this.waiting.keys()]) this.settle(id)?.reject(new ControlUnavailable('a call while stopping'))
  }

  private async send(stream: string, id: number, operation: string, payload: Uint8Array): Promise<void> {
    const timeoutMs = this.limits.rpcTimeoutMs
    const message = sluice.RpcRequest.encode({ id, replyTo: this.channel, timeoutMs, operation, payload }).finish()
    const entries = this.limits.rpcStreamEntriesMax
    await this.commands.xadd(stream, 'MAXLEN', '~', entries, '*', 'e', Buffer.from(message))
  }

  private settle(id: number): Waiting | undefined {
    const waiting = this.waiting.get(id)
    if (waiting === undefined) return undefined
    this.waiting.delete(id)
    waiting.lane.pending--
    clearTimeout(waiting.timer)
    return waiting
  }

  private answered(message: Buffer): void {
    const reply = sluice.RpcReply.decode(message)
    const waiting = this.settle(reply.id)
    if (waiting === undefined) return
    if (reply.errorCode === '') waiting.resolve(reply.payload)
    else waiting.reject(toError(reply.errorCode, reply.errorMessage))
  }
}

function toError(code: string, message: string): GatewayError {
  const known: ErrorCode = isErrorCode(code) ? code : 'internal_error'
  return new GatewayError(known, message === '' ? {} : { message })
}
