import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { StatedReserve } from './statedReserve.ts'

/** The last reading of the reserve. */
export interface LastReading {
  readonly reserve: StatedReserve
  readonly at: Date
  /** By the clock of the database. */
  readonly ageMs: number
  /** Readings up to this one that found less held than owed. */
  readonly shortReadings: number
}

/** The first and the last reading of a day (UTC). */
export interface ReserveDay {
  /** Such as 2027-01-31. */
  readonly day: string
  readonly first: StatedReserve
  readonly firstAt: Date
  readonly last: StatedReserve
  readonly lastAt: Date
}

/** The last reading; undefined before the first. */
export async function lastReading(db: Queryable): Promise<LastReading | undefined> {
  const found = await db.query<LastReading>({
    name: 'last_reading',
    text: `SELECT last_reading AS reserve, last_at AS at, short_readings AS "shortReadings",
       extract(epoch FROM clock_timestamp() - last_at)::float8 * 1000 AS "ageMs"
     FROM reserve_days ORDER BY day DESC LIMIT 1`,
  })
  return found.rows[0]
}

/** Stores a reading as the last of its day, and as the first if the day has none yet. */
export async function storeReading(client: Client, reserve: StatedReserve): Promise<void> {
  await client.query(
    `INSERT INTO reserve_days (day, first_reading, first_at, last_reading, last_at, short_readings)
     SELECT (t.at AT TIME ZONE 'UTC')::date, $1, t.at, $1, t.at, CASE WHEN $2 THEN 1 + coalesce(
       (SELECT short_readings FROM reserve_days ORDER BY day DESC LIMIT 1), 0) ELSE 0 END
     FROM (SELECT clock_timestamp() AS at) AS t
     ON CONFLICT (day) DO UPDATE SET last_reading = excluded.last_reading,
       last_at = greatest(excluded.last_at, reserve_days.last_at), short_readings = excluded.short_readings`,
    [JSON.stringify(reserve), reserve.covered === false],
  )
}

/** Days, newest first. @param before the day that all of them are before; '' for any */
export async function pageOfDays(db: Queryable, limit: number, before: string): Promise<ReserveDay[]> {
  const found = await db.query<ReserveDay>(
    `SELECT day::text AS day, first_reading AS first, first_at AS "firstAt", last_reading AS last, last_at AS "lastAt"
     FROM reserve_days WHERE $2 = '' OR day::text < $2 ORDER BY day DESC LIMIT $1`,
    [limit, before],
  )
  return found.rows
}
