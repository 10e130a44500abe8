import { batchJobJson } from '../../contract/api/batch.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { type JobRow, statusOf } from './jobRow.ts'

const CODES = { failed: 'batch_failed', expired: 'batch_expired' } as const
const MESSAGES = {
  failed: 'The provider failed the job; it was not charged.',
  expired: 'The job was not finished within its time; it was not charged.',
} as const

/** Why a job ended without a result; null for all other jobs. */
export function failureOf(job: JobRow): { code: 'batch_failed' | 'batch_expired'; message: string } | null {
  if (job.state !== 'failed' && job.state !== 'expired') return null
  const reason = job.errorMessage === '' ? '' : ` ${job.errorMessage}`
  return { code: CODES[job.state], message: MESSAGES[job.state] + reason }
}

/** The batch.job object, as JSON text. @param webhookSecret '' where the reader is not to have it */
export function shownJob(job: JobRow, webhookSecret: string): string {
  const rates = sluice.Rates.decode(job.rates)
  return batchJobJson({
    requestId: job.id,
    status: statusOf(job.state),
    model: job.model,
    createdAtMs: job.createdAtMs,
    deadlineMs: job.deadlineMs,
    endedAtMs: job.endedAtMs,
    holdUnits: job.holdUnits,
    coinUsdUnits: job.coinUsdUnits,
    sheetVersion: job.sheetVersion,
    rates,
    error: failureOf(job),
    receipt: job.receipt ?? '',
    webhookUrl: job.webhookUrl,
    webhookSecret,
    baseUrl: job.baseUrl,
  })
}
