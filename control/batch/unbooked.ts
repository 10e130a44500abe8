import { sluice } from '../../contract/wire/generated/messages.js'
import { logEvent } from '../runtime/logEvents.ts'
import type { ChargerOptions } from './charger.ts'
import { JOB_COLUMNS, type JobRow } from './jobRow.ts'
import { receiptOf } from './outcome.ts'

/**
 * Charges jobs that are done and have no receipt although settlement had time for it: Redis had accepted their charge, and
 * lost it. Where it is only late, nothing changes.
 */
export async function chargeUnbooked(options: ChargerOptions): Promise<void> {
  const nowMs = options.now()
  // Only jobs that are done have a result, by which they are found.
  const found = await options.pool.query<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM batch_jobs j
     WHERE result IS NOT NULL AND ended_at_ms > $1 AND ended_at_ms <= $2
       AND NOT EXISTS (SELECT FROM receipts r WHERE r.request_id = j.id)
     ORDER BY ended_at_ms LIMIT $3`,
    [nowMs - options.limits.holdAgeMaxMs, nowMs - 2 * options.limits.batchOpenMs, options.limits.batchPassMax],
  )
  for (const job of found.rows) {
    await endAgain(options, job).catch((error: unknown) => {
      logEvent(options.log, 'batch_charge_deferred', { job: job.id, err: error })
    })
  }
}

/** Repeats the ending of a job's hold. The job shows the amount that is charged now from then on. */
export async function endAgain(
  { pool, holds, log }: Pick<ChargerOptions, 'pool' | 'holds' | 'log'>,
  job: JobRow,
): Promise<void> {
  const isDone = job.outcome === 'done'
  const charge = job.chargeUnits ?? 0
  const told = sluice.Settlement.decode(job.settlement ?? Buffer.alloc(0))
  const settlement = Buffer.from(sluice.Settlement.encode({ ...told, chargeUnits: charge }).finish())
  const ended = await holds.end(job, isDone ? charge : null, settlement, true)
  if (ended === 'later' || !isDone || ended.chargedUnits === charge) return
  logEvent(log, 'batch_job_undercharged', { job: job.id, units: charge, charged: ended.chargedUnits })
  await pool.query('UPDATE batch_jobs SET charge_units = $2, receipt = $3 WHERE id = $1', [
    job.id,
    ended.chargedUnits,
    receiptOf(job, ended.chargedUnits),
  ])
}
