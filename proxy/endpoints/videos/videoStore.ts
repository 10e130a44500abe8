import { requestIdOf, type VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../contract/wire/redis.ts'
import {
  holdsKey,
  holdsPrefix,
  SHARD_COUNT,
  shardOf,
  videoKey,
  videoShardKey,
  videoSlotsKey,
} from '../../../contract/wire/redisKeys.ts'
import { defineBinaryScript, defineScript, type Script, VideoCode } from '../../../contract/wire/scripts.ts'
import type { VideoLimits } from './limits.ts'

const NO_TIME = 0

export type VideoJobFields = sluice.VideoJob.$Properties & {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly owner: string
}

/** A video job as Redis has it. Times are milliseconds of Redis's clock. */
export interface StoredVideo {
  readonly job: sluice.VideoJob
  readonly state: VideoState
  /** When it was read. */
  readonly nowMs: number
  /** When the clip was made; 0 before. */
  readonly madeAtMs: number
  /** Its hold is open. */
  readonly held: boolean
}

/** The result of a write; only `written` has changed anything. */
export type Written = 'written' | 'no_hold' | 'overtaken'

/** The video jobs of all proxies, in Redis, under the hash tag of their accounts. Every call rejects with Redis's error. */
export class VideoStore {
  private readonly redis: Redis
  private readonly limits: VideoLimits
  private readonly openScript: Script
  private readonly writeScript: Script
  private readonly readScript: Script
  private readonly dropScript: Script

  constructor(redis: Redis, limits: VideoLimits) {
    this.redis = redis
    this.limits = limits
    this.openScript = defineScript(redis, 'videoOpen')
    this.writeScript = defineScript(redis, 'videoWrite')
    this.readScript = defineBinaryScript(redis, 'videoRead')
    this.dropScript = defineScript(redis, 'videoDrop')
  }

  /**
   * Opens a job before its hold is taken.
   * @returns false when the key has its maximum of unbilled jobs; then nothing was written
   */
  async open(job: VideoJobFields, state: VideoState): Promise<boolean> {
    const { limits } = this
    const shard = shardOf(job.accountId)
    const videoId = videoIdOf(job.requestId)
    const [, reply] = await Promise.all([
      this.redis.set(videoShardKey(videoId), shard, 'PX', limits.videoStateKeptMs + limits.videoJobMaxMs),
      this.openScript(
        [videoKey(shard, videoId), videoSlotsKey(shard, job.keyId)],
        [
          job.requestId,
          job.owner,
          limits.videoJobsPerKeyMax,
          limits.videoOpenGraceMs,
          limits.videoStateKeptMs,
          holdsPrefix(shard),
          state,
          encode(job),
        ],
      ),
    ])
    const [code] = reply as number[]
    if (code === VideoCode.OK) return true
    await this.redis.del(videoShardKey(videoId))
    return false
  }

  /** Deletes a job that was refused before its id was returned. */
  async drop(job: VideoJobFields): Promise<void> {
    const shard = shardOf(job.accountId)
    const videoId = videoIdOf(job.requestId)
    await Promise.all([
      this.dropScript([videoKey(shard, videoId), videoSlotsKey(shard, job.keyId)], [job.requestId]),
      this.redis.del(videoShardKey(videoId)),
    ])
  }

  /** Writes the next state of a job; the rules are in videoWrite.lua. */
  async write(job: VideoJobFields, state: VideoState): Promise<Written> {
    const shard = shardOf(job.accountId)
    const videoId = videoIdOf(job.requestId)
    const reply = await this.writeScript(
      [videoKey(shard, videoId), videoSlotsKey(shard, job.keyId), holdsKey(shard, job.owner)],
      [job.requestId, job.owner, state, encode(job), this.limits.videoStateKeptMs],
    )
    const [code] = reply as number[]
    if (code === VideoCode.NO_HOLD) return 'no_hold'
    return code === VideoCode.OK ? 'written' : 'overtaken'
  }

  /** @param videoId has the form of an id. @returns null for a job that is not known, or no more */
  async read(videoId: string): Promise<StoredVideo | null> {
    const shard = Number((await this.redis.get(videoShardKey(videoId))) ?? -1)
    if (!(shard >= 0 && shard < SHARD_COUNT)) return null
    const reply = await this.readScript([videoKey(shard, videoId)], [requestIdOf(videoId), holdsPrefix(shard)])
    const [nowMs, state, encoded, madeAtMs, held] = reply as [number, VideoState, Buffer, number, number]
    if (encoded === undefined) return null
    const job = sluice.VideoJob.create(sluice.VideoJob.decode(encoded))
    return { job, state, nowMs, madeAtMs: madeAtMs ?? NO_TIME, held: held === 1 }
  }
}

function encode(job: VideoJobFields): Buffer {
  return Buffer.from(sluice.VideoJob.encode(job).finish())
}
