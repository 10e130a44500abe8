import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { CallSeal, replyLabel, requestLabel } from '../../../contract/wire/callSeal.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { refusalOf } from '../../../contract/wire/refusal.ts'
import { isRpcOperation, type RpcOperation } from '../../../contract/wire/rpc.ts'
import { rpcLanes } from '../../../contract/wire/rpcStreams.ts'
import { isDatabaseDown } from '../db/isDatabaseDown.ts'
import type { RuntimeLimits } from '../limits.ts'
import { logEvent, logRepeat } from '../logEvents.ts'
import { RpcLane } from './rpcLane.ts'
import { callOperation, notUnderstood, type RpcHandlers } from './rpcOperations.ts'

export type RpcOutcome = 'ok' | 'refused' | 'failed' | 'expired' | 'malformed'

/** Called for every request that was taken off a stream. */
export type RpcObserver = (operation: RpcOperation | 'unknown', outcome: RpcOutcome, seconds: number) => void

const UNSEALED_WARNING_INTERVAL_MS = 60_000

export interface RpcServerOptions {
  readonly redisUrl: string
  /** Shared with the proxies; SLUICE_BUS_KEY. */
  readonly busKeys: readonly Buffer[]
  readonly handlers: Partial<RpcHandlers>
  readonly log: Logger
  readonly observe?: RpcObserver
  readonly limits: RuntimeLimits
}

/**
 * Answers the proxies' calls. Requests come through the streams of contract/wire/rpcStreams.ts, shared by all control
 * processes, each with its own bound on concurrent calls: reads of receipts and sheets, and the account API, can saturate
 * theirs without delaying the calls that model requests wait for. Answers go out by pub/sub. A request is processed at most
 * once, even if its control crashes: after its timeout the caller retries, if the operation allows that. A request that was not
 * sealed with the shared key is dropped without an answer.
 */
export class RpcServer {
  private readonly handlers: Partial<RpcHandlers>
  private readonly busKeys: readonly Buffer[]
  private readonly log: Logger
  private readonly observe: RpcObserver
  private readonly writer: Redis
  private readonly lanes: readonly RpcLane[]
  private warnedMs = -UNSEALED_WARNING_INTERVAL_MS
  private readonly limits: RuntimeLimits

  constructor({ redisUrl, busKeys, handlers, log, observe = () => {}, limits }: RpcServerOptions) {
    this.limits = limits
    this.handlers = handlers
    this.busKeys = busKeys
    this.log = log
    this.observe = observe
    this.writer = connectRedis(redisUrl, 'wait')
    this.writer.on('error', () => {})
    const consumer = newId('own')
    this.lanes = Object.values(rpcLanes(limits)).map(
      ({ stream, placesMax }) =>
        new RpcLane({
          redisUrl,
          stream,
          consumer,
          placesMax,
          writer: this.writer,
          log,
          serve: (fields, ageMs) => this.serve(fields, ageMs),
          limits,
        }),
    )
  }

  start(): void {
    for (const lane of this.lanes) lane.start()
  }

  /** Stops reading, drains running calls within `timeoutMs`, and leaves the groups. */
  async stop(timeoutMs: number): Promise<void> {
    const late = sleep(timeoutMs, undefined, { ref: false })
    await Promise.all(this.lanes.map((lane) => lane.stop(late)))
    this.writer.disconnect()
  }

  /** @returns the reply channel and the encoded answer, or undefined when the caller no longer waits for one */
  private async serve(fields: Buffer[], ageMs: number): Promise<{ channel: string; message: Buffer } | undefined> {
    const startedMs = performance.now()
    const request = decodeRequest(fields)
    const operation = request && isRpcOperation(request.operation) ? request.operation : 'unknown'
    let outcome: RpcOutcome = 'malformed'
    let message: Buffer | undefined
    const leftMs = (request?.timeoutMs || this.limits.rpcTimeoutMs) - ageMs
    if (request && leftMs < 0) outcome = 'expired'
    else if (request) {
      const seal = new CallSeal(this.busKeys, request.replyTo)
      const payload = seal.open(requestLabel(request.operation, request.id), request.sealed)
      if (payload === undefined) this.warnOfUnsealed()
      else [outcome, message] = await this.answer({ request, operation, payload, seal }, startedMs + leftMs)
    }
    this.observe(operation, outcome, (performance.now() - startedMs) / 1_000)
    return request && message ? { channel: request.replyTo, message } : undefined
  }

  private warnOfUnsealed(): void {
    const nowMs = performance.now()
    if (nowMs - this.warnedMs < UNSEALED_WARNING_INTERVAL_MS) return
    this.warnedMs = nowMs
    logEvent(this.log, 'rpc_call_unsealed')
  }

  private async answer(call: OpenedCall, deadlineMs: number): Promise<[RpcOutcome, Buffer]> {
    const { request, operation } = call
    try {
      if (operation === 'unknown') throw notUnderstood()
      const payload = await callOperation(this.handlers, operation, call.payload, { deadlineMs })
      return ['ok', encodeReply({ id: request.id, sealed: call.seal.seal(replyLabel(request.id), payload) })]
    } catch (error) {
      const outcome = error instanceof GatewayError ? 'refused' : 'failed'
      const refusal = refusalOf(error instanceof GatewayError ? error : this.shown(error, operation))
      const { row = '', message = '' } = refusal
      return [outcome, encodeReply({ id: request.id, refusal, errorCode: row, errorMessage: message })]
    }
  }

  /** Maps a failure to the error that the client receives. */
  private shown(error: unknown, operation: string): GatewayError {
    if (isDatabaseDown(error)) {
      logRepeat(this.log, 'rpc_call_database_down', { operation, err: error })
      return new GatewayError('admission_unavailable')
    }
    const failure = newId('evt')
    logEvent(this.log, 'rpc_call_failed', { failure, operation, err: error })
    return new GatewayError('internal_error', {
      message: `The gateway failed; its log names this failure ${failure}.`,
    })
  }
}

/** A request whose payload was sealed with the shared key. */
interface OpenedCall {
  readonly request: sluice.RpcRequest
  readonly operation: RpcOperation | 'unknown'
  readonly payload: Uint8Array
  readonly seal: CallSeal
}

function decodeRequest(fields: Buffer[]): sluice.RpcRequest | undefined {
  const at = fields.findIndex((name, index) => index % 2 === 0 && name.toString() === 'e')
  const bytes = at < 0 ? undefined : fields[at + 1]
  if (bytes === undefined) return undefined
  try {
    const request = sluice.RpcRequest.decode(bytes)
    return request.replyTo === '' ? undefined : request
  } catch {
    return undefined
  }
}

function encodeReply(reply: sluice.RpcReply.$Properties): Buffer {
  return Buffer.from(sluice.RpcReply.encode(reply).finish())
}
