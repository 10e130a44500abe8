import { GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import { mayBePublicHost } from '../../contract/net/publicUrl.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { apart } from '../runtime/apart.ts'
import { camelColumns } from '../runtime/db/columns.ts'
import type { Pool, Queryable } from '../runtime/db/pool.ts'
import type { BatchHolds } from './batchHolds.ts'
import type { JobRoute } from './jobRow.ts'
import type { BatchLimits } from './limits.ts'
import type { Providers } from './providers.ts'
import { webhookSecretOf } from './webhookSecret.ts'

export interface OpenJobParts {
  readonly pool: Pool
  readonly holds: Pick<BatchHolds, 'takeOver'>
  readonly providers: () => Promise<Providers>
  readonly now: () => number
  /** Webhooks may be sent to private addresses. */
  readonly allowPrivate: boolean
  readonly limits: BatchLimits
}

/**
 * Takes a job and its hold over from a proxy. The job is written first, then its hold is taken over, then it may run;
 * `recoverOpening` handles a crash in between.
 * @throws GatewayError invalid_request for the webhook, rate_limited for the key, batch_unavailable; the proxy keeps the hold
 *   then. Every other error may be thrown before or after the hold was taken over.
 */
export async function openJob(
  parts: OpenJobParts,
  request: sluice.SubmitBatchRequest,
): Promise<sluice.SubmitBatchReply.$Properties> {
  const { pool, holds, now } = parts
  checkWebhook(request.webhookUrl, parts.allowPrivate)
  const routes = await runnableRoutes(parts, request)
  await checkRoom(pool, request.keyId, parts.limits)
  const webhookSecret = request.webhookUrl === '' ? '' : await webhookSecretOf(pool, request.keyId)
  const createdAtMs = now()
  await insertOpening(pool, request, routes, createdAtMs, parts.limits)
  const job = { id: request.requestId, accountId: request.accountId, keyId: request.keyId }
  if (!(await holds.takeOver(job, request.owner, request.takeByMs))) {
    await pool.query(`DELETE FROM batch_jobs WHERE id = $1 AND state = 'opening'`, [job.id])
    throw unavailable('The job could not be taken now; send it again.')
  }
  await pool.query(`UPDATE batch_jobs SET state = 'queued' WHERE id = $1 AND state = 'opening'`, [job.id])
  return { createdAtMs, webhookSecret }
}

/** Recovers jobs whose opening was interrupted: jobs whose hold was taken over continue, the others are removed. */
export async function recoverOpening({
  pool,
  holds,
  now,
  limits,
}: {
  pool: Pool
  holds: Pick<BatchHolds, 'held'>
  now: () => number
  limits: BatchLimits
}): Promise<void> {
  const found = await pool.query<{ id: string; accountId: string; keyId: string }>(
    `SELECT ${camelColumns('id, account_id, key_id')} FROM batch_jobs WHERE state = 'opening' AND created_at_ms <= $1 LIMIT $2`,
    [now() - limits.batchOpenMs, limits.batchPassMax],
  )
  await apart(found.rows, async (job) => {
    const [isHeld] = await holds.held([job])
    const query =
      isHeld === true
        ? `UPDATE batch_jobs SET state = 'queued' WHERE id = $1 AND state = 'opening'`
        : `DELETE FROM batch_jobs WHERE id = $1 AND state = 'opening'`
    await pool.query(query, [job.id])
  })
}

/** A name is resolved when it is called; an address can be refused immediately. */
function checkWebhook(url: string, allowPrivate: boolean): void {
  if (url === '' || allowPrivate) return
  if (!mayBePublicHost(new URL(url)))
    throw invalidRequest('webhook_url must lead to an address of the public internet.', 'webhook_url')
}

async function runnableRoutes(parts: OpenJobParts, request: sluice.SubmitBatchRequest): Promise<JobRoute[]> {
  const providers = await parts.providers()
  const routes = request.routes.map((route) => sluice.BatchRoute.create(route))
  const known = routes.filter(({ provider }) => providers.has(provider))
  if (known.length > 0) return known.map(({ provider, model, limitName }) => ({ provider, model, limit: limitName }))
  throw unavailable('No provider of the model runs batch jobs now; try again after Retry-After seconds.')
}

async function checkRoom(db: Queryable, keyId: string, limits: BatchLimits): Promise<void> {
  const counted = await db.query<{ own: number; all: number }>(
    `SELECT (SELECT count(*) FROM (SELECT FROM batch_jobs WHERE key_id = $1 AND ended_at_ms IS NULL LIMIT $2) o) AS own,
       (SELECT reltuples::bigint FROM pg_class WHERE oid = 'batch_jobs_open'::regclass) AS all`,
    [keyId, limits.batchJobsPerKeyMax],
  )
  const { own = 0, all = 0 } = counted.rows[0] ?? {}
  if (own >= limits.batchJobsPerKeyMax) {
    const message = `A key may have ${limits.batchJobsPerKeyMax} batch jobs open; wait until some have ended.`
    throw new GatewayError('rate_limited', { message, retryAfterSeconds: 60 })
  }
  if (all >= limits.batchJobsOpenMax) throw unavailable('Too many jobs wait.')
}

function unavailable(message: string): GatewayError {
  return new GatewayError('batch_unavailable', { message, status: 503, retryAfterSeconds: 5 })
}

async function insertOpening(
  db: Queryable,
  request: sluice.SubmitBatchRequest,
  routes: readonly JobRoute[],
  nowMs: number,
  limits: BatchLimits,
): Promise<void> {
  const [first] = routes
  const body = Buffer.from(request.body).toString('utf8')
  const rates = Buffer.from(sluice.Rates.encode(sluice.Rates.create(request.rates ?? {})).finish())
  const row = {
    id: request.requestId,
    account_id: request.accountId,
    key_id: request.keyId,
    state: 'opening',
    owner: request.owner,
    model: request.model,
    sheet_version: request.sheetVersion,
    coin_usd_units: request.coinUsdUnits,
    rates,
    hold_units: request.holdUnits,
    held_at_ms: request.heldAtMs,
    started_at_ms: request.startedAtMs,
    created_at_ms: nowMs,
    deadline_ms: nowMs + limits.batchLifetimeMs,
    approval_id: request.approvalId,
    webhook_url: request.webhookUrl,
    end_user: request.endUser,
    tags: request.tags,
    tags_salt: request.tagsSalt,
    base_url: request.baseUrl,
    routes: JSON.stringify(routes),
    provider: first?.provider ?? '',
    upstream_model: first?.model ?? '',
    max_tokens: request.maxTokens,
    context: request.context,
    max_output: request.maxOutput,
    prompt_bytes: request.promptBytes,
    prompt_extra_tokens: request.promptExtraTokens,
    body,
    body_bytes: request.body.length,
    due_at_ms: nowMs,
  }
  const names = Object.keys(row)
  await db.query(
    `INSERT INTO batch_jobs (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
    Object.values(row),
  )
}
