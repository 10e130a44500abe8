import type { Redis } from 'ioredis'
import { type ErrorCode, GatewayError, isErrorCode } from '../../contract/errors/errors.ts'
import { CallSeal, replyLabel, requestLabel } from '../../contract/wire/callSeal.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { rpcReplyChannel } from '../../contract/wire/redisKeys.ts'
import { type RpcLaneName, type RpcStream, rpcLaneOf, rpcLanes } from '../../contract/wire/rpcStreams.ts'
import type { Limits } from '../limits.ts'

interface Lane {
  readonly stream: string
  readonly entriesMax: number
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
  /** Too many calls wait, so this one was not made. */
  readonly unsent: boolean

  constructor(operation: string, options: ErrorOptions & { unsent?: boolean } = {}) {
    super(`control did not answer ${operation}`, options)
    this.unsent = options.unsent ?? false
  }
}

export interface RpcClientOptions {
  readonly commands: Redis
  /** A connection of its own, because a subscribed connection takes no other commands. */
  readonly subscriber: Redis
  readonly owner: string
  /** Shared with control; SLUICE_BUS_KEY. */
  readonly busKey: Buffer
  readonly limits: Limits
}

/** Calls control over the `rpc` streams; answers come back on a channel of this process. */
export class RpcClient {
  private readonly commands: Redis
  private readonly subscriber: Redis
  private readonly channel: string
  private readonly seal: CallSeal
  private readonly limits: Limits
  private readonly waiting = new Map<number, Waiting>()
  /** One for each stream, so that no number of calls of one kind leaves the others without a place. */
  private readonly lanes: Readonly<Record<RpcLaneName, Lane>>
  private nextId = 1

  constructor(options: RpcClientOptions) {
    this.commands = options.commands
    this.subscriber = options.subscriber
    this.channel = rpcReplyChannel(options.owner)
    this.seal = new CallSeal(options.busKey, this.channel)
    this.limits = options.limits
    const streams = rpcLanes(options.limits)
    const lane = (name: RpcLaneName): Lane => newLane(streams[name], options.limits)
    this.lanes = {
      calls: lane('calls'),
      reads: lane('reads'),
      api: lane('api'),
      payments: lane('payments'),
      batches: lane('batches'),
    }
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
   * Calls an operation of control, once: it is never repeated, because it may have been done.
   * @param timeoutMs how long to wait for the answer; control does not begin a call that is older
   * @returns the answer's payload
   * @throws GatewayError with the code that control answered; ControlUnavailable when there was no answer in time
   */
  async call(operation: string, payload: Uint8Array, timeoutMs = this.limits.rpcTimeoutMs): Promise<Uint8Array> {
    const lane = this.lanes[rpcLaneOf(operation)]
    if (lane === undefined || lane.pending >= lane.pendingMax) throw new ControlUnavailable(operation, { unsent: true })
    const id = this.nextId++
    const sealed = this.seal.seal(requestLabel(operation, id), payload)
    const sending = this.send(
      lane,
      sluice.RpcRequest.encode({ id, replyTo: this.channel, timeoutMs, operation, sealed }),
    )
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      const late = (): void => {
        const waiting = this.settle(id)
        if (waiting === undefined) return
        waiting.reject(new ControlUnavailable(operation))
        this.withdraw(lane, sending)
      }
      // After the socket is read: a process that stood still must not give up an answer that is there.
      const timer = setTimeout(() => setImmediate(late), timeoutMs)
      this.waiting.set(id, { lane, resolve, reject, timer })
      lane.pending++
    })
    sending.catch((cause: unknown) => {
      this.settle(id)?.reject(new ControlUnavailable(operation, { cause }))
    })
    return answer
  }

  /** Ends every call that waits. */
  stop(): void {
    for (const id of [...this.waiting.keys()]) this.settle(id)?.reject(new ControlUnavailable('a call while stopping'))
  }

  /** @returns the id of the entry */
  private send({ stream, entriesMax }: Lane, message: { finish(): Uint8Array }): Promise<string | null> {
    return this.commands.xadd(stream, 'MAXLEN', '~', entriesMax, '*', 'e', Buffer.from(message.finish()))
  }

  /** Takes a call that nobody waits for off its stream, so that what control left does not pile up while it is away. */
  private withdraw({ stream }: Lane, sending: Promise<string | null>): void {
    sending.then((entryId) => (entryId === null ? 0 : this.commands.xdel(stream, entryId))).catch(() => undefined)
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
    const payload = reply.errorCode === '' ? this.seal.open(replyLabel(reply.id), reply.sealed) : undefined
    // A reply that control has not sealed is none.
    if (reply.errorCode === '' && payload === undefined) return
    const waiting = this.settle(reply.id)
    if (waiting === undefined) return
    if (payload !== undefined) waiting.resolve(payload)
    else waiting.reject(toError(reply.errorCode, reply.errorMessage))
  }
}

function newLane({ stream, entriesMax }: RpcStream, limits: Limits): Lane {
  return { stream, entriesMax, pendingMax: Math.min(limits.rpcPendingMax, entriesMax) / 2, pending: 0 }
}

function toError(code: string, message: string): GatewayError {
  const known: ErrorCode = isErrorCode(code) ? code : 'internal_error'
  return new GatewayError(known, message === '' ? {} : { message })
}
