import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { GatewayError } from '../contract/errors.ts'
import { sluice } from '../contract/generated/messages.js'
import { newId } from '../contract/ids.ts'
import { limits } from '../contract/limits.ts'
import { connectRedis } from '../contract/redis.ts'
import { RPC_STREAMS } from '../contract/rpcStreams.ts'
import { isDatabaseDown } from '../db/isDatabaseDown.ts'
import { RpcLane } from './rpcLane.ts'
import { callOperation, isRpcOperation, type RpcHandlers, type RpcOperation } from './rpcOperations.ts'

export type RpcOutcome = 'ok' | 'refused' | 'failed' | 'expired' | 'malformed'

/** Told of every request that was taken off a stream. */
export type RpcObserver = (operation: RpcOperation | 'unknown', outcome: RpcOutcome, seconds: number) => void

/**
 * Answers the proxies' calls. Requests come through the streams of contract/rpcStreams.ts, shared by all control
 * processes, each with places of its own: reads of receipts and sheets, and the account API, may fill theirs without
 * holding up what requests wait for. Answers go out by pub/sub. A request is worked on at most once, also when its
 * control dies over it: the caller asks again, if it may, when its time passes without an answer.
 */
export class RpcServer {
  readonly #handlers: RpcHandlers
  readonly #log: Logger
  readonly #observe: RpcObserver
  readonly #writer: Redis
  readonly #lanes: readonly RpcLane[]

  constructor(redisUrl: string, handlers: RpcHandlers, log: Logger, observe: RpcObserver = () => {}) {
    this.#handlers = handlers
    this.#log = log
    this.#observe = observe
    this.#writer = connectRedis(redisUrl, 'wait')
    this.#writer.on('error', () => {})
    const consumer = newId('own')
    this.#lanes = RPC_STREAMS.map(
      ({ stream, placesMax }) =>
        new RpcLane({
          redisUrl,
          stream,
          consumer,
          placesMax,
          writer: this.#writer,
          log,
          serve: (fields, ageMs) => this.#serve(fields, ageMs),
        }),
    )
  }

  start(): void {
    for (const lane of this.#lanes) lane.start()
  }

  /** Stops reading, finishes what is under way within `timeoutMs`, and leaves the groups. */
  async stop(timeoutMs: number): Promise<void> {
    const late = sleep(timeoutMs, undefined, { ref: false })
    await Promise.all(this.#lanes.map((lane) => lane.stop(late)))
    this.#writer.disconnect()
  }

  /** @returns where the answer goes and what it is, or undefined when nobody waits for one */
  async #serve(fields: Buffer[], ageMs: number): Promise<{ channel: string; message: Buffer } | undefined> {
    const startedMs = performance.now()
    const request = decodeRequest(fields)
    const operation = request && isRpcOperation(request.operation) ? request.operation : 'unknown'
    let outcome: RpcOutcome = 'malformed'
    let message: Buffer | undefined
    const leftMs = (request?.timeoutMs || limits.rpcTimeoutMs) - ageMs
    if (request && leftMs < 0) outcome = 'expired'
    else if (request) [outcome, message] = await this.#answer(request, operation, startedMs + leftMs)
    this.#observe(operation, outcome, (performance.now() - startedMs) / 1_000)
    return request && message ? { channel: request.replyTo, message } : undefined
  }

  async #answer(
    request: sluice.RpcRequest,
    operation: RpcOperation | 'unknown',
    deadlineMs: number,
  ): Promise<[RpcOutcome, Buffer]> {
    try {
      if (operation === 'unknown') throw new Error(`there is no operation ${request.operation}`)
      const payload = await callOperation(this.#handlers, operation, request.payload, { deadlineMs })
      return ['ok', encodeReply({ id: request.id, payload })]
    } catch (error) {
      if (error instanceof GatewayError) {
        return ['refused', encodeReply({ id: request.id, errorCode: error.row, errorMessage: error.message })]
      }
      if (isDatabaseDown(error)) {
        this.#log.warn({ operation, err: error }, 'an rpc call found the database down')
        return ['failed', encodeReply({ id: request.id, errorCode: 'admission_unavailable' })]
      }
      const failure = newId('evt')
      this.#log.error({ failure, operation, err: error }, 'an rpc call failed')
      const errorMessage = `The gateway failed; its log names this failure ${failure}.`
      return ['failed', encodeReply({ id: request.id, errorCode: 'internal_error', errorMessage })]
    }
  }
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
