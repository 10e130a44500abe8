import type { Logger } from 'pino'
import { clusterOf, type Redis } from '../../../contract/wire/redis.ts'
import type { RuntimeLimits } from '../limits.ts'
import { logEvent } from '../logEvents.ts'
import { type GaugeGroup, gaugeGroup, type LabelledTotal } from '../metrics/metricGroups.ts'
import { ServerProbe } from './serverProbe.ts'

/** Over the masters of a cluster. */
interface RedisState {
  readonly usedBytes: number
  /** 0 for no bound. */
  readonly maxBytes: number
  readonly replicas: number
}

/** Counts how often another server answers in the place of one, or the same one after a restart. */
export class RedisChanges {
  private known: ReadonlySet<string> | undefined
  private count = 0

  readonly total: LabelledTotal = {
    name: 'redis_changes',
    help: 'Times that a server of Redis was another one than before, by a failover or a restart',
    labels: [],
    read: () => [{ labels: {}, count: this.count }],
  }

  /** @param runs ids of the runs of the servers that answer @returns whether there are others than before */
  note(runs: readonly string[]): boolean {
    const { known } = this
    this.known = new Set(runs)
    const isChanged = known !== undefined && runs.some((run) => !known.has(run))
    if (isChanged) this.count++
    return isChanged
  }
}

/** Watches Redis, and its failovers. */
export function redisProbe(
  redis: Redis,
  changes: RedisChanges,
  log: Logger,
  limits: RuntimeLimits,
): ServerProbe<RedisState> {
  return new ServerProbe({
    name: 'redis',
    ask: async () => {
      if (redis.status !== 'ready') throw new Error('no connection to Redis')
      const infos = await Promise.all((clusterOf(redis)?.nodes('master') ?? [redis]).map((node) => node.info()))
      const sum = (name: string): number => infos.reduce((all, info) => all + Number(valueIn(info, name) || 0), 0)
      if (changes.note(infos.map((info) => valueIn(info, 'run_id')))) logEvent(log, 'redis_changed')
      return { usedBytes: sum('used_memory'), maxBytes: sum('maxmemory'), replicas: sum('connected_slaves') }
    },
    onSlow: (reason) => logEvent(log, 'redis_slow', { reason }),
    onRecovered: (outageMs) => logEvent(log, 'redis_recovered', { outageMs: Math.round(outageMs) }),
    log,
    limits,
  })
}

/** A value of the answer to INFO; '' where it has none. */
function valueIn(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
}

/** Redis as control sees it; read without asking it. */
export function redisGauges(probe: ServerProbe<RedisState>): GaugeGroup {
  return gaugeGroup(
    {
      redis_round_trip_seconds: 'Time of a small command at Redis, or for how long none was answered',
      redis_used_bytes: 'Memory that Redis uses, over all masters',
      redis_max_bytes: 'Memory that it may use; 0 for no bound',
      redis_replicas: 'Replicas that are connected to the masters',
    },
    async () => ({
      redis_round_trip_seconds: probe.roundTripMs / 1_000,
      redis_used_bytes: probe.state?.usedBytes ?? 0,
      redis_max_bytes: probe.state?.maxBytes ?? 0,
      redis_replicas: probe.state?.replicas ?? 0,
    }),
  )
}
