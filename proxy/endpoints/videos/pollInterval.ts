import type { VideoLimits } from './limits.ts'

/** The pause grows by this factor from one poll to the next, so that short clips are noticed early. */
const GROWTH = 1.5
/** Jitter, so that jobs that were made together are not polled together forever. */
const JITTER = 0.2

/** How long to wait before a provider is asked about a job again. */
export class PollInterval {
  private readonly limits: Pick<VideoLimits, 'videoPollMinMs' | 'videoPollMaxMs'>
  private pauseMs: number

  constructor(limits: Pick<VideoLimits, 'videoPollMinMs' | 'videoPollMaxMs'>) {
    this.limits = limits
    this.pauseMs = limits.videoPollMinMs
  }

  /**
   * The next pause in milliseconds.
   * @param atLeastMs the pause that the provider asked for
   */
  next(atLeastMs = 0): number {
    const pauseMs = this.pauseMs
    this.pauseMs = Math.min(Math.ceil(pauseMs * GROWTH), Math.max(this.limits.videoPollMaxMs, pauseMs))
    return Math.max(atLeastMs, Math.round(pauseMs * (1 + JITTER * (Math.random() - 0.5))))
  }
}
