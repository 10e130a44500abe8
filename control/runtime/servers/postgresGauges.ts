import type { Logger } from 'pino'
import { ReadOnlyDatabaseError } from '../db/isDatabaseDown.ts'
import { type Pool, withClient } from '../db/pool.ts'
import type { RuntimeLimits } from '../limits.ts'
import { logEvent } from '../logEvents.ts'
import { type GaugeGroup, gaugeGroup } from '../metrics/metricGroups.ts'
import { ServerProbe } from './serverProbe.ts'

/** The book's database and its sessions. */
interface PostgresState {
  readonly sessions: number
  readonly most: number
  readonly active: number
  readonly locked: number
  readonly oldest: number
  readonly isReadOnly: boolean
}

const STATE = `
  SELECT count(*) AS sessions, current_setting('max_connections')::integer AS most, count(*) FILTER (WHERE state = 'active') AS active,
    count(*) FILTER (WHERE wait_event_type = 'Lock') AS locked,
    coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0)::float8 AS oldest,
    current_setting('transaction_read_only') = 'on' AS "isReadOnly"
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`

/** Watches PostgreSQL through the pool, so that a pool without a free connection is seen too. */
export function postgresProbe(pool: Pool, log: Logger, limits: RuntimeLimits): ServerProbe<PostgresState> {
  return new ServerProbe({
    name: 'postgres',
    ask: () =>
      withClient(pool, async (client) => {
        const [state] = (await client.query<PostgresState>(STATE)).rows
        if (state === undefined) throw new Error('PostgreSQL does not show its sessions')
        if (state.isReadOnly) throw new ReadOnlyDatabaseError()
        return state
      }),
    onSlow: (reason) => logEvent(log, 'postgres_slow', { reason, waiting: pool.waitingCount }),
    onRecovered: (outageMs) => logEvent(log, 'postgres_recovered', { outageMs: Math.round(outageMs) }),
    log,
    limits,
  })
}

/** PostgreSQL as control sees it; read without asking it. */
export function postgresGauges(pool: Pool, probe: ServerProbe<PostgresState>): GaugeGroup {
  return gaugeGroup(
    {
      postgres_round_trip_seconds:
        'Time of a small statement at PostgreSQL, or for how long none was answered or it took no writes',
      postgres_pool_connections: "Connections of this control's pool",
      postgres_pool_idle: 'Of these, those that nothing uses',
      postgres_pool_waiting: 'Callers that wait for a connection of the pool',
      postgres_sessions: 'Other sessions in the database, of all programs',
      postgres_sessions_max: 'Sessions that PostgreSQL accepts at most',
      postgres_sessions_active: 'Sessions that run a statement; of other users only with the role pg_monitor',
      postgres_sessions_locked: 'Sessions that wait for a lock',
      postgres_transaction_oldest_seconds: 'Age of the oldest open transaction',
    },
    async () => ({
      postgres_round_trip_seconds: probe.roundTripMs / 1_000,
      postgres_pool_connections: pool.totalCount,
      postgres_pool_idle: pool.idleCount,
      postgres_pool_waiting: pool.waitingCount,
      postgres_sessions: probe.state?.sessions ?? 0,
      postgres_sessions_max: probe.state?.most ?? 0,
      postgres_sessions_active: probe.state?.active ?? 0,
      postgres_sessions_locked: probe.state?.locked ?? 0,
      postgres_transaction_oldest_seconds: probe.state?.oldest ?? 0,
    }),
  )
}
