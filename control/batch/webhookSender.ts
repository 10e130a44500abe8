import type { Logger } from 'pino'
import type { Pool } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { CallError, callHttp } from '../runtime/net/httpCall.ts'
import type { BatchLimits } from './limits.ts'
import { signatureHeaders } from './webhookSecret.ts'
import { type Attempt, type DueWebhook, noteAttempt, takeDueWebhooks } from './webhookStore.ts'

/** Bodies of answers are not used; a larger one counts as a failed delivery. */
const ANSWER_BYTES_MAX = 1_048_576

export interface WebhookSenderOptions {
  readonly pool: Pool
  readonly log: Logger
  /** Webhooks may be sent to private addresses. */
  readonly allowPrivate: boolean
  readonly now: () => number
  readonly limits: BatchLimits
}

/**
 * Sends the webhooks that are due, a few concurrently.
 * @returns how many attempts were made
 */
export async function sendWebhooks(options: WebhookSenderOptions): Promise<number> {
  const due = await takeDueWebhooks(options.pool, options.now(), options.limits)
  await Promise.all(due.map((hook) => sendOne(options, hook)))
  return due.length
}

async function sendOne(
  { pool, log, allowPrivate, now, limits }: WebhookSenderOptions,
  hook: DueWebhook,
): Promise<void> {
  const atMs = now()
  const begin = performance.now()
  let status: number | null = null
  let fault = ''
  try {
    const answer = await callHttp({
      method: 'POST',
      url: new URL(hook.url),
      headers: { 'content-type': 'application/json', ...signatureHeaders(hook.secret, hook.id, atMs, hook.body) },
      body: hook.body,
      timeoutMs: limits.webhookTimeoutMs,
      answerBytesMax: ANSWER_BYTES_MAX,
      allowPrivate,
    })
    status = answer.status
    if (status < 200 || status > 299) fault = `answered ${status}`
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    fault = error.message
  }
  const attempt: Attempt = { atMs, tookMs: Math.round(performance.now() - begin), status, fault: fault.slice(0, 500) }
  await noteAttempt(pool, hook, attempt, limits)
  const told = { webhook: hook.id, job: hook.jobId, attempt: hook.attempts, status, fault }
  if (fault === '') logEvent(log, 'webhook_delivered', told)
  else logEvent(log, 'webhook_failed', told)
}
