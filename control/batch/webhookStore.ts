import { newId } from '../../contract/wire/ids.ts'
import { backoffMs } from '../runtime/backoff.ts'
import { camelColumns } from '../runtime/db/columns.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import type { JobRow } from './jobRow.ts'
import type { BatchLimits } from './limits.ts'
import { shownJob } from './shownJob.ts'

const ATTEMPT_MARGIN_MS = 2_000

/** A webhook that is to be sent now. */
export interface DueWebhook {
  readonly id: string
  readonly jobId: string
  readonly keyId: string
  readonly url: string
  readonly body: string
  readonly secret: string
  /** Which attempt this is, from 1. */
  readonly attempts: number
  readonly createdAtMs: number
}

/** The result of a delivery attempt. */
export interface Attempt {
  readonly atMs: number
  readonly tookMs: number
  /** The receiver's status; null where there was no answer. */
  readonly status: number | null
  /** Why it counts as failed; '' when it does not. */
  readonly fault: string
}

/** Adds the webhook for the end of a job; once per job. */
export async function addWebhook(db: Queryable, job: JobRow, nowMs: number): Promise<void> {
  const id = newId('evt', nowMs)
  const head = JSON.stringify({ id, type: `batch.${job.state}`, timestamp: new Date(nowMs).toISOString() })
  const body = `${head.slice(0, -1)},"data":${shownJob({ ...job, webhookUrl: '' }, '')}}`
  await db.query(
    `INSERT INTO webhooks (id, job_id, key_id, url, body, created_at_ms, due_at_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (job_id) DO NOTHING`,
    [id, job.id, job.keyId, job.webhookUrl, body, nowMs],
  )
}

/**
 * Takes webhooks that are due, those of all accounts in turn, so that an account whose receivers do not answer keeps no other
 * waiting. Each is due again at the next step of its backoff, which is later than the end of any attempt, so that a webhook is
 * retried if its sender crashes, and never sent by two senders concurrently.
 */
export async function takeDueWebhooks(db: Queryable, nowMs: number, limits: BatchLimits): Promise<DueWebhook[]> {
  const taken = await db.query<DueWebhook>({
    name: 'due_webhooks',
    text: `UPDATE webhooks w SET attempts = attempts + 1,
       due_at_ms = $1::bigint + LEAST($3::bigint, $2::bigint * power(2, LEAST(w.attempts, 20))::bigint)
     FROM webhook_secrets s
     WHERE s.key_id = w.key_id AND w.id IN (
       SELECT id FROM webhooks WHERE state = 'waiting' AND due_at_ms <= $1 AND id IN (
         SELECT id FROM (
           SELECT d.id, d.due_at_ms, row_number() OVER (PARTITION BY j.account_id ORDER BY d.due_at_ms) AS turn
           FROM (SELECT id, job_id, due_at_ms FROM webhooks WHERE state = 'waiting' AND due_at_ms <= $1
             ORDER BY due_at_ms LIMIT $5) d JOIN batch_jobs j ON j.id = d.job_id
         ) due ORDER BY turn, due_at_ms LIMIT $4)
       FOR UPDATE SKIP LOCKED)
     RETURNING ${camelColumns('w.id, w.job_id, w.key_id, w.url, w.body, w.attempts, w.created_at_ms, s.secret')}`,
    values: [nowMs, firstRetryMs(limits), limits.webhookRetryMaxMs, limits.webhooksAtOnceMax, limits.webhooksReadMax],
  })
  return taken.rows
}

/** Records the result of an attempt; the webhook is over when it was delivered, or is too old for another attempt. */
export async function noteAttempt(
  db: Queryable,
  hook: DueWebhook,
  attempt: Attempt,
  limits: BatchLimits,
): Promise<void> {
  const { atMs, tookMs, status, fault } = attempt
  await db.query(
    `INSERT INTO webhook_attempts (webhook_id, attempt, at_ms, took_ms, status, fault)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    [hook.id, hook.attempts, atMs, tookMs, status, fault],
  )
  const isOld =
    atMs + backoffMs(hook.attempts, firstRetryMs(limits), limits.webhookRetryMaxMs) >= giveUpAtMs(hook, limits)
  if (fault !== '' && !isOld) return
  await db.query(`UPDATE webhooks SET state = $2, ended_at_ms = $3 WHERE id = $1 AND state = 'waiting'`, [
    hook.id,
    fault === '' ? 'delivered' : 'given_up',
    atMs + tookMs,
  ])
}

function firstRetryMs(limits: BatchLimits): number {
  return Math.max(limits.webhookRetryMs, limits.webhookTimeoutMs + ATTEMPT_MARGIN_MS)
}

function giveUpAtMs(hook: DueWebhook, limits: BatchLimits): number {
  return hook.createdAtMs + limits.webhookLifetimeMs
}
