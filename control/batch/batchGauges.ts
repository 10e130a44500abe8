import type { Queryable } from '../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../runtime/metrics/metricGroups.ts'

const COUNT_MAX = 100_000

/** Batch jobs and webhooks that wait, counted up to a bound. */
export function batchGauges(db: Queryable): GaugeGroup {
  return gaugeGroup(
    {
      batch_jobs_open: 'Batch jobs not ended yet, counted up to 100,000',
      batch_job_oldest_seconds: 'Age of the oldest of these',
      webhooks_waiting: 'Webhooks not delivered yet',
    },
    async () => {
      const found = await db.query<{ jobs: number; oldest: number | null; hooks: number }>(
        `SELECT count(*) AS jobs, min(created_at_ms) AS oldest,
           (SELECT count(*) FROM (SELECT FROM webhooks WHERE state = 'waiting' LIMIT $1) w) AS hooks
         FROM (SELECT created_at_ms FROM batch_jobs WHERE ended_at_ms IS NULL LIMIT $1) j`,
        [COUNT_MAX],
      )
      const { jobs = 0, oldest = null, hooks = 0 } = found.rows[0] ?? {}
      const ageMs = oldest === null ? 0 : Math.max(0, Date.now() - oldest)
      return { batch_jobs_open: jobs, batch_job_oldest_seconds: ageMs / 1_000, webhooks_waiting: hooks }
    },
  )
}
