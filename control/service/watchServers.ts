import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { sampleExport } from '../records/export/exportGauges.ts'
import { clockGauges } from '../runtime/clockGauges.ts'
import { ClockWatch } from '../runtime/clockWatch.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { RuntimeLimits } from '../runtime/limits.ts'
import type { GaugeGroup, LabelledTotal } from '../runtime/metrics/metricGroups.ts'
import { postgresGauges, postgresProbe } from '../runtime/servers/postgresGauges.ts'
import { RedisChanges, redisGauges, redisProbe } from '../runtime/servers/redisGauges.ts'
import { settlementLagMs } from './backlogGauges.ts'
import { type Lag, lagWatch } from './lagWatch.ts'

interface WatchedParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly limits: RuntimeLimits
  readonly hasExport: boolean
}

/** Watches PostgreSQL, Redis, the clock, and how far control is behind. */
export function watchServers({ pool, redis, log, limits, hasExport }: WatchedParts): {
  readonly gauges: readonly GaugeGroup[]
  readonly totals: readonly LabelledTotal[]
  readonly stop: () => Promise<void>
} {
  const clock = new ClockWatch({ redis, log, limits })
  const changes = new RedisChanges()
  const postgres = postgresProbe(pool, log, limits)
  const ofRedis = redisProbe(redis, changes, log, limits)
  const exported: Lag = {
    name: 'export',
    lateMs: limits.exportLateMs,
    read: async () => (await sampleExport(pool, Date.now())).lagMs,
  }
  const lags = lagWatch(
    [
      { name: 'settlement', lateMs: limits.settlementLateMs, read: () => settlementLagMs(redis) },
      ...(hasExport ? [exported] : []),
    ],
    log,
    limits,
  )
  return {
    gauges: [postgresGauges(pool, postgres), redisGauges(ofRedis), clockGauges(clock)],
    totals: [changes.total],
    stop: async () => void (await Promise.all([clock, postgres, ofRedis, lags].map((part) => part.stop()))),
  }
}
