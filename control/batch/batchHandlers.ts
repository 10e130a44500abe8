import { requestIdOfBatch } from '../../contract/api/batch.ts'
import { DAY_MS } from '../../contract/api/time.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { isId } from '../../contract/wire/ids.ts'
import type { ApiCall, ReadHandler } from '../api/call.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { type JobRow, statusOf } from './jobRow.ts'
import { jobOf } from './jobStore.ts'
import type { BatchLimits } from './limits.ts'
import { failureOf, shownJob } from './shownJob.ts'
import { webhookSecretOf } from './webhookSecret.ts'

const RETRY_SECONDS = 15

/** GET /v1/batches/{id} and its result. */
export function batchHandlers(pool: Pool, limits: BatchLimits): Record<'get_batch' | 'get_batch_result', ReadHandler> {
  return {
    get_batch: {
      read: async (call) => {
        const job = await ownJob(pool, call)
        const secret = job.webhookUrl === '' ? '' : await webhookSecretOf(pool, job.keyId)
        return { text: shownJob(job, secret), headers: costHeaders(job) }
      },
    },
    get_batch_result: {
      read: async (call) => {
        const job = await ownJob(pool, call)
        refuseWithoutResult(job)
        const { text, next } = await resultPart(pool, job, call.part, limits)
        return { text, nextPart: next, headers: costHeaders(job) }
      },
    },
  }
}

/** @throws GatewayError batch_not_found, permission_denied for another key's job */
async function ownJob(pool: Pool, { params, caller }: ApiCall): Promise<JobRow> {
  const id = params['id'] ?? ''
  const job = isId('batch', id) ? await jobOf(pool, requestIdOfBatch(id)) : undefined
  if (job === undefined) throw new GatewayError('batch_not_found')
  if (caller.kind !== 'key' || job.keyId !== caller.keyId) throw new GatewayError('permission_denied')
  return job
}

function costHeaders(job: JobRow): readonly string[] {
  return job.state === 'done' ? ['x-cost-units', String(job.chargeUnits ?? 0)] : []
}

/** @throws GatewayError not_ready, batch_failed, batch_expired */
function refuseWithoutResult(job: JobRow): void {
  if (statusOf(job.state) === 'submitted') throw new GatewayError('not_ready', { retryAfterSeconds: RETRY_SECONDS })
  const failure = failureOf(job)
  if (failure !== null) throw new GatewayError(failure.code, { message: failure.message })
}

/** A part of the completion; the receipt follows the last part. @throws GatewayError result_expired */
async function resultPart(
  pool: Pool,
  job: JobRow,
  part: string,
  limits: BatchLimits,
): Promise<{ text: string; next: string }> {
  const from = Number(part || 0)
  const found = await pool.query<{ piece: string | null; size: number }>(
    'SELECT substr(result, $2::integer + 1, $3::integer) AS piece, length(result) AS size FROM batch_jobs WHERE id = $1',
    [job.id, from, limits.batchResultPartChars],
  )
  const { piece = null, size = 0 } = found.rows[0] ?? {}
  if (piece === null) {
    const days = Number((limits.batchResultKeptMs / DAY_MS).toFixed(2))
    throw new GatewayError('result_expired', { message: `Batch results are kept for ${days} days; this one is gone.` })
  }
  const end = from + limits.batchResultPartChars
  if (end < size) return { text: piece, next: String(end) }
  return { text: `${piece.slice(0, -1)},"receipt":${job.receipt ?? 'null'}}`, next: '' }
}
