import type { Limits } from '../../limits.ts'

/** The pause grows by this factor from one question to the next, so that short clips are seen early. */
const GROWTH = 1.5
/** Jobs that were made at once are not asked about at once for ever. */
const JITTER = 0.2

/** How long to wait before a provider is asked about a job again. */
export class PollInterval {
  private readonly limits: Pick<Limits, 'videoPollMinMs' | 'videoPollMaxMs'>
  private pauseMs: number

  constructor(limits: Pick<Limits, 'videoPollMinMs' | 'videoPollMaxMs'>) {
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
