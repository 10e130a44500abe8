import { GatewayError } from '../../contract/errors/errors.ts'
import { CallSeal, replyLabel, requestLabel } from '../../contract/wire/callSeal.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import { rpcReplyChannel } from '../../contract/wire/redisKeys.ts'
import { errorOf } from '../../contract/wire/refusal.ts'
import { RPC, type RpcOperation, type RpcReplyRead, type RpcRequest } from '../../contract/wire/rpc.ts'
import { type RpcLaneName, type RpcStream, rpcLanes } from '../../contract/wire/rpcStreams.ts'
import type { BusLimits } from './limits.ts'

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

/**
 * Control did not answer: control or Redis is down or restarting. The client sees this error unless the call may have
 * changed something: then the caller answers with a more precise error.
 */
export class ControlUnavailable extends GatewayError {
  /** Too many calls wait, so this one was not made. */
  readonly unsent: boolean

  constructor(operation: string, options: ErrorOptions & { unsent?: boolean } = {}) {
    const cause = new Error(`control did not answer ${operation}`, options)
    super('admission_unavailable', { retryAfterSeconds: 1, cause })
    this.unsent = options.unsent ?? false
  }
}

/** Control has answered in a form that cannot be decoded, because it runs another version. The call may have taken effect. */
export class UnreadableReply extends ControlUnavailable {}

export interface RpcClientOptions {
  readonly commands: Redis
  /** A connection of its own, because a subscribed connection takes no other commands. */
  readonly subscriber: Redis
  readonly owner: string
  /** Shared with control; SLUICE_BUS_KEY. */
  readonly busKeys: readonly Buffer[]
  readonly limits: BusLimits
}

/** Calls control over the `rpc` streams; answers arrive on a channel of this process. */
export class RpcClient {
  private readonly commands: Redis
  private readonly subscriber: Redis
  private readonly channel: string
  private readonly seal: CallSeal
  private readonly limits: BusLimits
  private readonly waiting = new Map<number, Waiting>()
  /** One for each stream, so that no number of calls of one kind leaves the others without a place. */
  private readonly lanes: Readonly<Record<RpcLaneName, Lane>>
  private nextId = 1

  constructor(options: RpcClientOptions) {
    this.commands = options.commands
    this.subscriber = options.subscriber
    this.channel = rpcReplyChannel(options.owner)
    this.seal = new CallSeal(options.busKeys, this.channel)
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
   * Calls an operation of control, once: the call is never retried, because it may have taken effect.
   * @param timeoutMs how long to wait for the answer; control does not begin a call that is older
   * @throws GatewayError of control's refusal; ControlUnavailable after a timeout, UnreadableReply when the answer cannot be
   *   decoded
   */
  async call<Name extends RpcOperation>(
    operation: Name,
    request: RpcRequest<Name>,
    timeoutMs = this.limits.rpcTimeoutMs,
  ): Promise<RpcReplyRead<Name>> {
    const row = RPC[operation]
    const lane = this.lanes[row.lane]
    if (lane.pending >= lane.pendingMax) throw new ControlUnavailable(operation, { unsent: true })
    return readReply(operation, await this.send(operation, lane, row.request.encode(request), timeoutMs))
  }

  /** Ends every call that waits. */
  stop(): void {
    for (const id of [...this.waiting.keys()]) this.settle(id)?.reject(new ControlUnavailable('a call while stopping'))
  }

  /** @returns the payload of the answer */
  private send(operation: RpcOperation, lane: Lane, payload: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const id = this.nextId++
    const sealed = this.seal.seal(requestLabel(operation, id), payload)
    const sending = this.write(
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
      // Runs after the socket is read: a process that was blocked must not time out an answer that has already arrived.
      const timer = setTimeout(() => setImmediate(late), timeoutMs)
      this.waiting.set(id, { lane, resolve, reject, timer })
      lane.pending++
    })
    sending.catch((cause: unknown) => {
      this.settle(id)?.reject(new ControlUnavailable(operation, { cause }))
    })
    return answer
  }

  /** @returns the id of the entry */
  private write({ stream, entriesMax }: Lane, message: { finish(): Uint8Array }): Promise<string | null> {
    return this.commands.xadd(stream, 'MAXLEN', '~', entriesMax, '*', 'e', Buffer.from(message.finish()))
  }

  /**
   * Removes a call that no longer has a waiter from its stream, so that abandoned calls do not pile up while control is
   * down.
   */
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
    const reply = decoded(message)
    if (reply === undefined) return
    const refusal = refusalIn(reply)
    const payload = refusal === undefined ? this.seal.open(replyLabel(reply.id), reply.sealed) : undefined
    // Replies that control has not sealed are ignored.
    if (refusal === undefined && payload === undefined) return
    const waiting = this.settle(reply.id)
    if (payload !== undefined) waiting?.resolve(payload)
    else if (refusal !== undefined) waiting?.reject(errorOf(refusal))
  }
}

/** Parses a message on the channel of this process; undefined if it is not a reply. */
function decoded(message: Buffer): sluice.RpcReply | undefined {
  try {
    return sluice.RpcReply.decode(message)
  } catch {
    return undefined
  }
}

/** The reply of an operation. @throws UnreadableReply */
export function readReply<Name extends RpcOperation>(operation: Name, payload: Uint8Array): RpcReplyRead<Name> {
  try {
    return RPC[operation].reply.decode(payload)
  } catch (cause) {
    throw new UnreadableReply(operation, { cause })
  }
}

function newLane({ stream, entriesMax }: RpcStream, limits: BusLimits): Lane {
  return { stream, entriesMax, pendingMax: Math.min(limits.rpcPendingMax, entriesMax) / 2, pending: 0 }
}

function refusalIn({ refusal, errorCode, errorMessage }: sluice.RpcReply): sluice.Refusal.$Properties | undefined {
  if (refusal) return refusal
  return errorCode === '' ? undefined : { row: errorCode, message: errorMessage }
}
