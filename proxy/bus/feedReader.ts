import { sluice } from '../../contract/wire/generated/messages.js'
import { clusterOf, type Redis } from '../../contract/wire/redis.ts'
import { FEED_STREAM } from '../../contract/wire/redisKeys.ts'
import { defineScript, type Script } from '../../contract/wire/scripts.ts'
import { compareStreamIds, parseStreamId } from '../../contract/wire/streamId.ts'

const BLOCK_MS = 5_000
/** In a cluster, a blocked read does not see entries of a stream that is moving to another node. */
const CLUSTER_BLOCK_MS = 1_000
const READ_COUNT = 512
const RETRY_MS = 100

export interface FeedListener {
  /** @param recordDropped control has dropped the record in Redis before */
  onKeyChanged(keyHash: string, recordDropped: boolean): void
  /** The catalog is another one, or who serves its models in addition to its own routes. */
  onCatalogPublished(): void
  onStatusChanged(): void
  /** Events may have been missed: every cached record has to be read again. */
  onGap(): void
}

type StreamAnswer = [Buffer, [Buffer, Buffer[]][]][] | null

/**
 * Follows control's feed. It remembers its place in the stream, so a lost connection loses no event; when the stream itself
 * is gone or has been trimmed past that place, or another server has taken over, it reports a gap to the listener.
 */
export class FeedReader {
  private readonly redis: Redis
  private readonly listener: FeedListener
  private readonly onError: (error: unknown) => void
  private lastId = '0-0'
  /** The server that the feed was read from; another one may lack events that this one had. */
  private server = ''
  private isUnsure = true
  private readonly blockMs: number
  private readonly serverOf: Script
  private stopped = false
  private running: Promise<void> = Promise.resolve()

  constructor(redis: Redis, listener: FeedListener, onError: (error: unknown) => void) {
    this.redis = redis
    this.listener = listener
    this.onError = onError
    this.serverOf = defineScript(redis, 'serverOf')
    this.blockMs = clusterOf(redis) === undefined ? BLOCK_MS : CLUSTER_BLOCK_MS
  }

  /** Starts at the current end of the feed; read the announced records after this resolves. */
  async start(): Promise<void> {
    this.server = String(await this.serverOf([FEED_STREAM], []))
    this.lastId = (await this.newestId()) ?? '0-0'
    this.isUnsure = false
    this.redis.on('ready', () => this.checkGap())
    this.running = this.run()
  }

  /**
   * Every event arrives, and none was missed: the last read was answered. A server that has not answered for 15 s is no longer
   * followed, since its connection is dropped then.
   */
  get isFollowed(): boolean {
    return !this.isUnsure
  }

  async stop(): Promise<void> {
    this.stopped = true
    this.redis.disconnect()
    await this.running
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        if (this.isUnsure) await this.findGap()
        const answer = (await this.redis.callBuffer(
          'XREAD',
          'COUNT',
          READ_COUNT,
          'BLOCK',
          this.blockMs,
          'STREAMS',
          FEED_STREAM,
          this.lastId,
        )) as StreamAnswer
        // Behind by so much, it may have been overtaken by the trimming; then everything is read again.
        const isBehind = answer?.some(([, entries]) => entries.length === READ_COUNT)
        const isLost = isBehind === true && (await this.findGap())
        if (answer !== null && !isLost) this.deliver(answer)
        this.isUnsure = false
      } catch (error) {
        if (this.stopped) return
        this.isUnsure = true
        this.onError(error)
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  private deliver(answer: NonNullable<StreamAnswer>): void {
    for (const [, entries] of answer) {
      for (const [id, fields] of entries) {
        this.lastId = id.toString()
        const event = sluice.FeedEvent.decode(fields[1] ?? Buffer.alloc(0))
        if (event.keyChanged) this.listener.onKeyChanged(event.keyChanged, event.recordDropped)
        else if (event.catalogPublished || event.servingChanged) this.listener.onCatalogPublished()
        else if (event.statusChanged) this.listener.onStatusChanged()
      }
    }
  }

  private async newestId(): Promise<string | undefined> {
    const newest = (await this.redis.xrevrange(FEED_STREAM, '+', '-', 'COUNT', 1)) as [string, string[]][]
    return newest[0]?.[0]
  }

  private checkGap(): void {
    this.findGap().catch((error: unknown) => this.onError(error))
  }

  /** @returns whether there was one */
  private async findGap(): Promise<boolean> {
    const server = String(await this.serverOf([FEED_STREAM], []))
    const oldest = (await this.redis.xrange(FEED_STREAM, '-', '+', 'COUNT', 1)) as [string, string[]][]
    const newest = await this.newestId()
    const oldestId = oldest[0]?.[0]
    const lost = newest === undefined || isOlder(newest, this.lastId)
    const trimmed = oldestId !== undefined && this.lastId !== '0-0' && isOlder(this.lastId, oldestId)
    if (!lost && !trimmed && server === this.server) return false
    this.server = server
    this.lastId = newest ?? '0-0'
    this.listener.onGap()
    return true
  }
}

function isOlder(id: string, other: string): boolean {
  return compareStreamIds(parseStreamId(id), parseStreamId(other)) < 0
}
