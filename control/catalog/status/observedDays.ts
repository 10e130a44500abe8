import type { Logger } from 'pino'
import { type ServiceState, worstState } from '../../../contract/api/incidents.ts'
import { dayOf, type Observed, ObservedTimes } from '../../../contract/api/observedDays.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Pool, Queryable } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import type { CatalogLimits } from '../limits.ts'

/** A proxy reports its observations from a time without control, for at most this many days. */
const DAYS_LATE_MAX = 2

/** The state of the service on a day, as the gateway saw it. */
export interface DayState {
  /** Days since 1970, UTC. */
  readonly day: number
  readonly state: ServiceState
}

/** Stores the proxies' observations of the service in the book, in batches every limits.statusWriteMs. */
export class ObservedDays {
  private readonly pool: Pool
  private readonly times = new ObservedTimes()
  private readonly loop: Loop
  private readonly limits: CatalogLimits

  constructor({ pool, log, limits }: { pool: Pool; log: Logger; limits: CatalogLimits }) {
    this.limits = limits
    this.pool = pool
    this.loop = new Loop('observed days', limits.statusWriteMs, log, () => this.write())
  }

  /** Adds the observations of a proxy; impossible days are skipped. */
  add(observed: readonly Observed[], nowMs: number): void {
    const today = dayOf(nowMs)
    for (const entry of observed) {
      if (entry.day <= today + 1 && entry.day >= today - DAYS_LATE_MAX) this.times.add(entry)
    }
  }

  /** Writes the remaining observations. */
  async stop(): Promise<void> {
    await this.loop.stop()
    await this.write()
  }

  private async write(): Promise<void> {
    const all = this.times.take()
    if (all.length === 0) return
    try {
      await writeObserved(this.pool, all, this.limits)
    } catch (error) {
      for (const entry of all) this.times.add(entry)
      throw error
    }
  }
}

async function writeObserved(db: Queryable, all: readonly Observed[], limits: CatalogLimits): Promise<void> {
  await db.query(
    `INSERT INTO observed_days (day, state, ms)
     SELECT * FROM unnest($1::integer[], $2::text[], $3::bigint[])
     ON CONFLICT (day, state) DO UPDATE SET ms = observed_days.ms + excluded.ms`,
    [
      intArray(all.map(({ day }) => day)),
      textArray(all.map(({ state }) => state)),
      intArray(all.map(({ ms }) => Math.round(ms))),
    ],
  )
  await db.query('DELETE FROM observed_days WHERE day <= $1', [dayOf(Date.now()) - limits.incidentDaysShown])
}

/**
 * The days on which the gateway ran, newest first, each with the worst state that lasted at least
 * limits.statusStateMinMs of it, added up.
 */
export async function shownDays(db: Queryable, limits: CatalogLimits): Promise<DayState[]> {
  const { rows } = await db.query<{ day: number; states: ServiceState[] }>(
    `SELECT day, coalesce(array_agg(state) FILTER (WHERE ms >= $1), '{}') AS states
     FROM observed_days WHERE day > $2 GROUP BY day ORDER BY day DESC`,
    [limits.statusStateMinMs, dayOf(Date.now()) - limits.incidentDaysShown],
  )
  return rows.map(({ day, states }) => ({ day, state: worstState(states) }))
}
