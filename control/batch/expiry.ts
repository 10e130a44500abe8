import type { Pool } from '../runtime/db/pool.ts'
import { JOB_COLUMNS, type JobRow } from './jobRow.ts'
import { decide } from './jobStore.ts'
import type { BatchLimits } from './limits.ts'
import { decideFailure } from './outcome.ts'

/**
 * Expires jobs at their deadline: unsent jobs immediately, jobs in a group a little later, because the group is polled a last
 * time at the deadline.
 */
export async function expireJobs(pool: Pool, nowMs: number, limits: BatchLimits): Promise<void> {
  const found = await pool.query<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM batch_jobs
     WHERE (state = 'queued' AND deadline_ms <= $1) OR (state = 'grouped' AND deadline_ms <= $2)
     ORDER BY deadline_ms LIMIT $3`,
    [nowMs, nowMs - limits.batchExpireGraceMs, limits.batchPassMax],
  )
  for (const job of found.rows)
    await decide(pool, job.id, decideFailure(job, 'expired', '', nowMs), ['queued', 'grouped'])
}

/** Erases results and webhook logs whose retention has expired. @returns whether there may be more */
export async function eraseOld(pool: Pool, nowMs: number, limits: BatchLimits): Promise<boolean> {
  const results = await pool.query(
    `UPDATE batch_jobs SET result = NULL WHERE id IN (
       SELECT id FROM batch_jobs WHERE result IS NOT NULL AND ended_at_ms <= $1 LIMIT $2)`,
    [nowMs - limits.batchResultKeptMs, limits.batchPassMax],
  )
  const hooks = await pool.query(
    `DELETE FROM webhooks WHERE id IN (SELECT id FROM webhooks WHERE ended_at_ms <= $1 LIMIT $2)`,
    [nowMs - limits.webhookKeptMs, limits.batchPassMax],
  )
  return Math.max(results.rowCount ?? 0, hooks.rowCount ?? 0) >= limits.batchPassMax
}
