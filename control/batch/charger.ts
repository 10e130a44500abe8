import type { Logger } from 'pino'
import { releaseApproval } from '../products/agents/approvals.ts'
import { type Client, type Pool, withTransaction } from '../runtime/db/pool.ts'
import { logRepeat } from '../runtime/logEvents.ts'
import type { BatchHolds, Ended } from './batchHolds.ts'
import { JOB_COLUMNS, type JobRow } from './jobRow.ts'
import type { BatchLimits } from './limits.ts'
import { receiptOf } from './outcome.ts'
import { addWebhook } from './webhookStore.ts'

const GIVEN_UP = 'The hold of the job was given up before its result was charged.'

export interface ChargerOptions {
  readonly pool: Pool
  readonly holds: Pick<BatchHolds, 'end'>
  readonly log: Logger
  readonly now: () => number
  readonly limits: BatchLimits
}

/**
 * Ends jobs whose outcome is decided: first the hold in Redis, which is idempotent, then the job in the book, together with
 * its webhook.
 * @returns the number of ended jobs
 */
export async function endDecided(options: ChargerOptions): Promise<number> {
  let ended = 0
  let last = ''
  // Jobs that cannot be ended yet do not block the jobs after them.
  for (let page = 0; page < options.limits.batchPassMax; page++) {
    const found = await options.pool.query<JobRow>({
      name: 'ending_batch_jobs',
      text: `SELECT ${JOB_COLUMNS} FROM batch_jobs WHERE state = 'ending' AND id > $1 ORDER BY id LIMIT $2`,
      values: [last, options.limits.batchPassMax],
    })
    ended += await endPage(options, found.rows)
    last = found.rows.at(-1)?.id ?? ''
    if (found.rows.length < options.limits.batchPassMax) break
  }
  return ended
}

async function endPage(options: ChargerOptions, jobs: readonly JobRow[]): Promise<number> {
  let ended = 0
  for (const job of jobs) {
    try {
      if (await endOne(options, job)) ended++
    } catch (error) {
      logRepeat(options.log, 'batch_job_unsettled', { job: job.id, err: error })
    }
  }
  return ended
}

async function endOne({ pool, holds, now }: ChargerOptions, job: JobRow): Promise<boolean> {
  const charge = job.outcome === 'done' ? (job.chargeUnits ?? 0) : null
  const ended = await holds.end(job, charge, job.settlement ?? Buffer.alloc(0))
  if (ended === 'later') return false
  return withTransaction(pool, (client) => close(client, job, ended, now()))
}

/** Writes the end of a job, once. */
async function close(client: Client, job: JobRow, ended: Exclude<Ended, 'later'>, nowMs: number): Promise<boolean> {
  // A job whose hold was given up has another receipt in the book, which charges nothing: so it has no result either.
  const isLost = job.outcome === 'done' && ended.voided
  const outcome = isLost ? 'failed' : (job.outcome ?? 'failed')
  const chargedUnits = outcome === 'done' ? ended.chargedUnits : 0
  const receipt = isLost ? null : receiptOf(job, chargedUnits)
  const closed = await client.query<JobRow>(
    `UPDATE batch_jobs SET state = $2, outcome = $2, charge_units = $3, receipt = $4, ended_at_ms = $5,
       error_message = CASE WHEN $6 THEN $7 ELSE error_message END, result = CASE WHEN $6 THEN NULL ELSE result END
     WHERE id = $1 AND state = 'ending' RETURNING ${JOB_COLUMNS}`,
    [job.id, outcome, chargedUnits, receipt, nowMs, isLost, GIVEN_UP],
  )
  const [row] = closed.rows
  if (row === undefined) return false
  if (outcome !== 'done' && row.approvalId !== '') await releaseApproval(client, row.approvalId, row.id)
  if (row.webhookUrl !== '') await addWebhook(client, row, nowMs)
  return true
}
