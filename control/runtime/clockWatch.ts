import type { Logger } from 'pino'
import { ClockDifference } from '../../contract/wire/clockDifference.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import type { RuntimeLimits } from './limits.ts'
import { logEvent } from './logEvents.ts'
import { Loop } from './loop.ts'
import { redisNowMs } from './redisClock.ts'

export interface ClockWatchOptions {
  readonly redis: Redis
  readonly log: Logger
  readonly limits: RuntimeLimits
}

/** Compares this machine's clock with Redis's, and logs when they begin to differ and when they agree again. */
export class ClockWatch {
  private readonly difference: ClockDifference
  private readonly loop: Loop

  constructor({ redis, log, limits }: ClockWatchOptions) {
    this.difference = new ClockDifference(limits.clockDifferenceMaxMs, (differs, differenceMs) =>
      logEvent(log, differs ? 'clock_differs' : 'clock_agrees', { differenceMs: Math.round(differenceMs) }),
    )
    this.loop = new Loop('clock', limits.clockCheckMs, log, async () => {
      // An outage of Redis is logged where it matters.
      if (redis.status !== 'ready') return
      const askedAtMs = performance.now()
      const redisMs = await redisNowMs(redis)
      this.difference.note(performance.now() - askedAtMs, redisMs)
    })
  }

  /** How far this machine's clock is ahead; below zero when it is behind. */
  get aheadSeconds(): number {
    return this.difference.ms / 1_000
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }
}
