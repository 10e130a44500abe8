import type { Logger } from 'pino'
import type { Redis } from '../../../../contract/wire/redis.ts'
import type { Pool } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { openAdmissions } from './admission.ts'
import { judgeAll } from './judgeAll.ts'
import { forgetMeasures, type Measure, noteMeasures } from './measures.ts'
import { closeDays } from './record.ts'
import { type ServingParts, syncServing } from './servingRecord.ts'

export interface ServingKeeperParts extends ServingParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly limits: MarketplaceLimits
}

/**
 * Decides which registered providers serve: stores the proxies' measurements, judges them immediately, and keeps the serving
 * record that the proxies read equal to the book, also after a loss in Redis and after commands of the operator.
 */
export class ServingKeeper {
  private readonly parts: ServingKeeperParts
  private readonly loop: Loop
  private readonly days: Loop

  constructor(parts: ServingKeeperParts) {
    this.parts = parts
    const { log, limits, redis } = parts
    this.loop = new Loop('registered providers', limits.providerJudgeMs, log, () => this.pass())
    this.days = new Loop('records of providers', limits.housekeepingMs, log, () => this.closeDays())
    redis.on('ready', this.wake)
  }

  /** Stores a proxy's measurements, and triggers their judgement. */
  async measured(measures: readonly Measure[]): Promise<void> {
    if (measures.length === 0) return
    await noteMeasures(this.parts.pool, measures, Date.now())
    this.loop.wake()
  }

  async stop(): Promise<void> {
    this.parts.redis.off('ready', this.wake)
    await Promise.all([this.loop.stop(), this.days.stop()])
  }

  private async pass(): Promise<void> {
    const { pool, redis, log, limits } = this.parts
    if ((await openAdmissions(pool)).length > 0) await judgeAll(pool, log, Date.now(), limits)
    if (redis.status !== 'ready') return
    if (await syncServing(pool, redis, this.parts, limits)) logEvent(log, 'providers_serving_changed')
  }

  private async closeDays(): Promise<void> {
    const { pool, limits } = this.parts
    await closeDays(pool, Date.now(), limits)
    await forgetMeasures(pool, limits, Date.now())
  }

  private readonly wake = (): void => this.loop.wake()
}
