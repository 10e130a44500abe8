import type { Queryable } from '../runtime/db/pool.ts'

const COUNT_MAX = 100_000

/** How many batch jobs and webhooks wait. */
export interface BatchSample {
  readonly jobsOpen: number
  /** Age of the oldest open job, milliseconds. */
  readonly oldestMs: number
  readonly webhooksWaiting: number
}

export const NO_BATCHES: BatchSample = { jobsOpen: 0, oldestMs: 0, webhooksWaiting: 0 }

/** Counts waiting jobs and webhooks, up to a bound. */
export async function sampleBatches(db: Queryable, nowMs: number): Promise<BatchSample> {
  const found = await db.query<{ jobs: number; oldest: number | null; hooks: number }>(
    `SELECT count(*) AS jobs, min(created_at_ms) AS oldest,
       (SELECT count(*) FROM (SELECT FROM webhooks WHERE state = 'waiting' LIMIT $1) w) AS hooks
     FROM (SELECT created_at_ms FROM batch_jobs WHERE ended_at_ms IS NULL LIMIT $1) j`,
    [COUNT_MAX],
  )
  const { jobs = 0, oldest = null, hooks = 0 } = found.rows[0] ?? {}
  return { jobsOpen: jobs, oldestMs: oldest === null ? 0 : Math.max(0, nowMs - oldest), webhooksWaiting: hooks }
}
