import { textArray } from '../runtime/db/arrays.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { JOB_COLUMNS, type JobRow } from './jobRow.ts'
import type { Decision } from './outcome.ts'

/** States in which a job waits to be sent, or for a provider's answer. */
export type OpenState = 'queued' | 'grouped' | 'calling'

export interface BatchWork {
  /** A job has not ended. */
  readonly hasOpen: boolean
  /** A webhook is due. */
  readonly hasDue: boolean
}

/** The work that all controls have together. */
export async function readWork(db: Queryable, nowMs: number): Promise<BatchWork> {
  const found = await db.query<BatchWork>({
    name: 'batch_work',
    text: `SELECT EXISTS (SELECT FROM batch_jobs WHERE ended_at_ms IS NULL) AS "hasOpen",
       EXISTS (SELECT FROM webhooks WHERE state = 'waiting' AND due_at_ms <= $1) AS "hasDue"`,
    values: [nowMs],
  })
  return found.rows[0] ?? { hasOpen: false, hasDue: false }
}

/**
 * Decides the outcome of a job, once: has no effect if it is decided already, or if the job is not in an expected state or
 * group.
 * @param from the expected states
 * @param groupId of the group that it is sent in; null for a job that is called singly
 * @returns whether this call decided it
 */
export async function decide(
  db: Queryable,
  jobId: string,
  decision: Decision,
  from: readonly OpenState[],
  groupId: string | null = null,
): Promise<boolean> {
  const { outcome, chargeUnits, settlement, result, errorMessage } = decision
  const decided = await db.query(
    `UPDATE batch_jobs SET state = 'ending', outcome = $2, charge_units = $3, settlement = $4, result = $5,
       error_message = $6, body = NULL
     WHERE id = $1 AND state = ANY ($7::text[]) AND ($8::text IS NULL OR group_id = $8)`,
    [jobId, outcome, chargeUnits, settlement, result, errorMessage.replaceAll('\u0000', ''), textArray(from), groupId],
  )
  return decided.rowCount === 1
}

/** One job, or undefined. */
export async function jobOf(db: Queryable, id: string): Promise<JobRow | undefined> {
  const found = await db.query<JobRow>(`SELECT ${JOB_COLUMNS} FROM batch_jobs WHERE id = $1`, [id])
  return found.rows[0]
}

/** Puts a job back into the queue, for the route in `turn`. */
export async function requeue(
  db: Queryable,
  jobId: string,
  from: OpenState,
  turn: { readonly route: number; readonly provider: string; readonly model: string; readonly dueAtMs: number },
): Promise<void> {
  await db.query(
    `UPDATE batch_jobs SET state = 'queued', route = $3, provider = $4, upstream_model = $5, due_at_ms = $6,
       call_by_ms = NULL, group_id = NULL
     WHERE id = $1 AND state = $2`,
    [jobId, from, turn.route, turn.provider, turn.model, turn.dueAtMs],
  )
}
