import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { RPC_GROUP } from '../../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../../contract/wire/redisShards.ts'
import type { RuntimeLimits } from '../limits.ts'
import { logEvent } from '../logEvents.ts'
import { redisNowMs } from '../redisClock.ts'

const BLOCK_MS = 1_000
const RETRY_MS = 250
const DEAD_CONSUMER_MS = 600_000

type StreamEntry = [id: Buffer, fields: Buffer[] | null]
type ReadStreams = [stream: Buffer, entries: StreamEntry[]][] | null

export interface RpcLaneOptions {
  readonly redisUrl: string
  readonly stream: string
  /** The name of this process in the consumer group. */
  readonly consumer: string
  /** Requests under way concurrently. */
  readonly placesMax: number
  readonly writer: Redis
  readonly log: Logger
  /**
   * Answers one entry; it never rejects.
   * @param ageMs how long the entry has been in the stream, by Redis's clock alone
   */
  readonly serve: (fields: Buffer[], ageMs: number) => Promise<{ channel: string; message: Buffer } | undefined>
  readonly limits: RuntimeLimits
}

/** One stream of requests: reads it as a member of its group, has each entry served, and takes it off the stream. */
export class RpcLane {
  private readonly options: RpcLaneOptions
  private readonly log: Logger
  private readonly writer: Redis
  private readonly reader: Redis
  private readonly underWay = new Map<string, Promise<void>>()
  private stopping = false
  private loop: Promise<void> | undefined
  private lastClaimMs = 0

  constructor(options: RpcLaneOptions) {
    this.options = options
    this.log = options.log
    this.writer = options.writer
    this.reader = connectRedis(options.redisUrl, 'wait')
    this.reader.on('error', () => {})
  }

  start(): void {
    this.loop = this.run()
  }

  /** Stops reading, drains running requests until `late` resolves, and leaves the group. */
  async stop(late: Promise<unknown>): Promise<void> {
    this.stopping = true
    this.reader.disconnect()
    await Promise.race([this.finish(), late])
    if (this.writer.status !== 'ready' || this.underWay.size > 0) return
    await this.writer.xgroup('DELCONSUMER', this.options.stream, RPC_GROUP, this.options.consumer).catch(() => {})
  }

  private async finish(): Promise<void> {
    await this.loop
    // Redis may have handed requests to the reader before it saw that the connection was closed; it has seen it at the second look.
    for (let look = 0; look < 2 && this.writer.status === 'ready'; look++) {
      await this.serveUnread().catch((error: Error) => {
        logEvent(this.log, 'rpc_stream_read_failed', { reason: error.message })
      })
    }
    await Promise.allSettled(this.underWay.values())
  }

  private async serveUnread(): Promise<void> {
    const { stream, consumer, placesMax } = this.options
    const args = ['GROUP', RPC_GROUP, consumer, 'COUNT', placesMax, 'STREAMS', stream, '0']
    await this.serveAll((await this.writer.callBuffer('XREADGROUP', ...args)) as ReadStreams)
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      try {
        await this.dropAbandoned()
        await this.readOnce()
      } catch (error) {
        if (this.stopping) return
        await this.recover(error as Error)
      }
    }
  }

  /** Redis restarted, was emptied, or is loading: wait a little, make the group where it is missing, go on. */
  private async recover(error: Error): Promise<void> {
    if (error.message.startsWith('NOGROUP')) {
      const made = await this.writer
        .xgroup('CREATE', this.options.stream, RPC_GROUP, '0', 'MKSTREAM')
        .catch((failed) => failed)
      if (made === 'OK' || (made instanceof Error && made.message.startsWith('BUSYGROUP'))) return
    }
    logEvent(this.log, 'rpc_stream_read_failed', { reason: error.message })
    await sleep(RETRY_MS)
  }

  private async readOnce(): Promise<void> {
    const { stream, consumer, placesMax } = this.options
    const free = placesMax - this.underWay.size
    if (free <= 0) {
      await Promise.race(this.underWay.values())
      return
    }
    const args = ['GROUP', RPC_GROUP, consumer, 'COUNT', free, 'BLOCK', BLOCK_MS, 'STREAMS', stream, '>']
    await this.serveAll((await this.reader.callBuffer('XREADGROUP', ...args)) as ReadStreams)
  }

  private async serveAll(streams: ReadStreams): Promise<void> {
    const entries = streams?.[0]?.[1] ?? []
    if (entries.length === 0) return
    const nowMs = await redisNowMs(this.writer)
    for (const [id, fields] of entries) {
      const key = id.toString()
      // Of a request that its caller has taken off the stream, the group knows the id alone.
      if (fields === null || this.underWay.has(key)) continue
      const work = this.serve(id, fields, nowMs - Number.parseInt(key, 10)).catch((error: Error) => {
        logEvent(this.log, 'rpc_reply_lost', { reason: error.message })
      })
      this.underWay.set(key, work)
      void work.then(() => this.underWay.delete(key))
    }
  }

  private async serve(id: Buffer, fields: Buffer[], ageMs: number): Promise<void> {
    const { stream, serve } = this.options
    const answer = await serve(fields, ageMs)
    const write = pipelineOf(this.writer)
    if (answer !== undefined) write.publish(answer.channel, answer.message)
    await write.xack(stream, RPC_GROUP, id).xdel(stream, id).exec()
  }

  /** Takes requests of control processes that died off the stream; by then their callers have given up. */
  private async dropAbandoned(): Promise<void> {
    const idleMs = this.options.limits.rpcTimeoutMs * 2
    if (performance.now() - this.lastClaimMs < idleMs) return
    const { stream, consumer } = this.options
    const args = [stream, RPC_GROUP, consumer, idleMs, '0', 'COUNT', this.options.limits.rpcConcurrencyMax, 'JUSTID']
    const claimed = (await this.writer.call('XAUTOCLAIM', ...args)) as [string, string[]]
    const abandoned = claimed[1].filter((id) => !this.underWay.has(id))
    if (abandoned.length > 0) {
      await pipelineOf(this.writer)
        .xack(stream, RPC_GROUP, ...abandoned)
        .xdel(stream, ...abandoned)
        .exec()
      logEvent(this.log, 'rpc_requests_dropped', { requests: abandoned.length })
    }
    await this.forgetDeadConsumers()
    this.lastClaimMs = performance.now()
  }

  private async forgetDeadConsumers(): Promise<void> {
    const { stream, consumer } = this.options
    const consumers = (await this.writer.xinfo('CONSUMERS', stream, RPC_GROUP)) as Array<Array<string | number>>
    for (const fields of consumers) {
      const [name, pending, idleMs] = ['name', 'pending', 'idle'].map((field) => fields[fields.indexOf(field) + 1])
      if (pending === 0 && Number(idleMs) > DEAD_CONSUMER_MS && name !== consumer) {
        await this.writer.xgroup('DELCONSUMER', stream, RPC_GROUP, String(name))
      }
    }
  }
}
