import type { AdmittedVideo } from './admit.ts'
import type { VideoLimits } from './limits.ts'
import type { VideoJobFields, VideoStore } from './videoStore.ts'
import type { VideoWakes } from './videoWakes.ts'

/** The inputs of a job's run. */
export interface VideoRunOrder {
  readonly admitted: AdmittedVideo
  readonly job: VideoJobFields
  readonly jobs: VideoJobs
  /** The read token of a job that was paid per request; empty for the job of a key. */
  readonly readToken: string
}

/** A job that this process follows. */
export interface FollowedVideo {
  /** A client asks for it. */
  wake(): void
}

const NOBODY: FollowedVideo = { wake: () => undefined }

/** The video jobs of this process, and the way to those of all. */
export class VideoJobs {
  readonly store: VideoStore
  private readonly wakes: VideoWakes
  private readonly limits: VideoLimits
  private readonly followed = new Map<string, FollowedVideo>()

  constructor(store: VideoStore, wakes: VideoWakes, limits: VideoLimits) {
    this.store = store
    this.wakes = wakes
    this.limits = limits
  }

  /**
   * Reserves a place for a job that is about to begin.
   * @returns false when this process follows its maximum of jobs
   */
  reserve(videoId: string): boolean {
    if (this.followed.size >= this.limits.videoJobsMax) return false
    this.followed.set(videoId, NOBODY)
    return true
  }

  /** Starts to listen for jobs of this process that clients ask other processes for. */
  start(): Promise<void> {
    return this.wakes.listen((videoId) => this.followed.get(videoId)?.wake())
  }

  /** Fills the place that was reserved. */
  add(videoId: string, job: FollowedVideo): void {
    this.followed.set(videoId, job)
  }

  /** Gives the place back; it may be called more than once. */
  remove(videoId: string): void {
    this.followed.delete(videoId)
  }

  /** Asks the process that follows a job to poll its provider soon. */
  wake(owner: string, videoId: string): void {
    this.wakes.wake(owner, videoId)
  }
}
