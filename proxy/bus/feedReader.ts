import type { Redis } from 'ioredis'
import { sluice } from '../../contract/wire/generated/messages.js'
import { FEED_STREAM } from '../../contract/wire/redisKeys.ts'
import { compareStreamIds, parseStreamId } from '../../contract/wire/streamId.ts'

const BLOCK_MS = 5_000
const READ_COUNT = 512
const RETRY_MS = 100

export interface FeedListener {
  onKeyChanged(keyHash: string): void
  onCatalogPublished(): void
  onStatusChanged(): void
  /** Events may have been missed: everything cached has to be read anew. */
  onGap(): void
}

type StreamAnswer = [Buffer, [Buffer, Buffer[]][]][] | null

/**
 * Follows control's feed. It remembers its place in the stream, so a lost connection loses no event; when the stream
 * itself is gone or has been trimmed past that place, the listener is told of a gap.
 */
export class FeedReader {
  private readonly redis: Redis
  private readonly listener: FeedListener
  private readonly onError: (error: unknown) => void
  private lastId = '0-0'
  private stopped = false
  private running: Promise<void> = Promise.resolve()

  constructor(redis: Redis, listener: FeedListener, onError: (error: unknown) => void) {
    this.redis = redis
    this.listener = listener
    this.onError = onError
  }

  /** Starts at the end of the feed as it is now; read what it announces after this resolves. */
  async start(): Promise<void> {
    this.lastId = (await this.newestId()) ?? '0-0'
    this.redis.on('ready', () => this.checkGap())
    this.running = this.run()
  }

  async stop(): Promise<void> {
    this.stopped = true
    this.redis.disconnect()
    await this.running
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        const answer = (await this.redis.callBuffer(
          'XREAD',
          'COUNT',
          READ_COUNT,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          FEED_STREAM,
          this.lastId,
        )) as StreamAnswer
        if (answer !== null) this.deliver(answer)
      } catch (error) {
        if (this.stopped) return
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
        if (event.keyChanged) this.listener.onKeyChanged(event.keyChanged)
        else if (event.catalogPublished) this.listener.onCatalogPublished()
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

  private async findGap(): Promise<void> {
    const oldest = (await this.redis.xrange(FEED_STREAM, '-', '+', 'COUNT', 1)) as [string, string[]][]
    const newest = await this.newestId()
    const oldestId = oldest[0]?.[0]
    const lost = newest === undefined || isOlder(newest, this.lastId)
    const trimmed = oldestId !== undefined && this.lastId !== '0-0' && isOlder(this.lastId, oldestId)
    if (!lost && !trimmed) return
    this.lastId = newest ?? '0-0'
    this.listener.onGap()
  }
}

function isOlder(id: string, other: string): boolean {
  return compareStreamIds(parseStreamId(id), parseStreamId(other)) < 0
}
