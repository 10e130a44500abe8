import { textArray } from '../runtime/db/arrays.ts'
import { camelColumns } from '../runtime/db/columns.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { JOB_COLUMNS, type JobRow } from './jobRow.ts'

const OPEN = ['opening', 'queued', 'grouped', 'calling', 'ending']

/** Batch jobs, newest first. @param query '' asks for all */
export async function listJobs(
  db: Queryable,
  { account, status, limit }: { account: string; status: string; limit: number },
): Promise<JobRow[]> {
  const states = status === 'submitted' ? OPEN : [status]
  const found = await db.query<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM batch_jobs
     WHERE ($1 = '' OR account_id = $1) AND ($2 = '' OR state = ANY ($3::text[])) ORDER BY id DESC LIMIT $4`,
    [account, status, textArray(states), limit],
  )
  return found.rows
}

/** A webhook with its last attempt. */
export interface WebhookRow {
  readonly id: string
  readonly jobId: string
  readonly url: string
  readonly state: 'waiting' | 'delivered' | 'given_up'
  readonly attempts: number
  readonly createdAtMs: number
  readonly dueAtMs: number
  readonly endedAtMs: number | null
  readonly status: number | null
  readonly fault: string | null
}

const WEBHOOK_COLUMNS = camelColumns(
  'w.id, w.job_id, w.url, w.state, w.attempts, w.created_at_ms, w.due_at_ms, w.ended_at_ms, a.status, a.fault',
)

/** Webhooks, newest first. @param query '' asks for all */
export async function listWebhooks(
  db: Queryable,
  { state, limit }: { state: string; limit: number },
): Promise<WebhookRow[]> {
  const found = await db.query<WebhookRow>(
    `SELECT ${WEBHOOK_COLUMNS}
     FROM webhooks w LEFT JOIN LATERAL (
       SELECT status, fault FROM webhook_attempts WHERE webhook_id = w.id ORDER BY attempt DESC LIMIT 1) a ON true
     WHERE ($1 = '' OR w.state = $1) ORDER BY w.id DESC LIMIT $2`,
    [state, limit],
  )
  return found.rows
}

export interface AttemptRow {
  readonly attempt: number
  readonly atMs: number
  readonly tookMs: number
  readonly status: number | null
  readonly fault: string
}

/** Every attempt to deliver a webhook, in order. */
export async function attemptsOf(db: Queryable, webhookId: string): Promise<AttemptRow[]> {
  const found = await db.query<AttemptRow>(
    `SELECT ${camelColumns('attempt, at_ms, took_ms, status, fault')} FROM webhook_attempts
     WHERE webhook_id = $1 ORDER BY attempt`,
    [webhookId],
  )
  return found.rows
}

/** Schedules a webhook for another delivery. @returns false for an unknown webhook */
export async function resendWebhook(db: Queryable, webhookId: string, nowMs: number): Promise<boolean> {
  const due = await db.query(
    `UPDATE webhooks SET state = 'waiting', due_at_ms = $2, ended_at_ms = NULL WHERE id = $1`,
    [webhookId, nowMs],
  )
  return due.rowCount === 1
}
