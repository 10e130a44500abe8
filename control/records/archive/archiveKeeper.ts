import type { Logger } from 'pino'
import { monthStartMs } from '../../book/partitions/idTime.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import { ArchiveError } from './archiveError.ts'
import { type ArchiveOptions, archiveMonth } from './archiveMonth.ts'

export interface ArchiveKeeperOptions extends ArchiveOptions {
  readonly log: Logger
  /** Whole months before the present one whose receipts stay in the database. */
  readonly keptMonths: number
}

/** Archives months that are older than the operator's retention in the database. */
export function archiveKeeper(options: ArchiveKeeperOptions): Loop {
  return new Loop('archive', options.limits.receiptMonthsMs, options.log, async (signal) => {
    for (const month of await oldMonths(options)) if (!signal.aborted) await putAway(options, month)
  })
}

/** Months whose retention is over, the earliest first. */
async function oldMonths({ pool, keptMonths }: Pick<ArchiveKeeperOptions, 'pool' | 'keptMonths'>): Promise<string[]> {
  const found = await pool.query<{ month: string }>(
    'SELECT month FROM receipt_months WHERE until_id <= request_id_at(to_timestamp($1)) ORDER BY until_id',
    [monthStartMs(Date.now(), -keptMonths) / 1_000],
  )
  return found.rows.map(({ month }) => month)
}

async function putAway(options: ArchiveKeeperOptions, month: string): Promise<void> {
  try {
    const { file, receipts } = await archiveMonth(options, month)
    logEvent(options.log, 'archive_month_written', { month, file, receipts })
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    logEvent(options.log, 'archive_month_failed', { month, reason: error.message })
  }
}
