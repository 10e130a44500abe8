import type { Logger } from 'pino'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { BookLimits } from '../limits.ts'
import { addMonthsAhead } from './addMonths.ts'

/** Creates the partitions of the next months before their first receipt is booked. */
export function monthKeeper({ pool, log, limits }: { pool: Pool; log: Logger; limits: BookLimits }): Loop {
  return new Loop('months of receipts', limits.receiptMonthsMs, log, async () => {
    const added = await addMonthsAhead(pool, Date.now())
    if (added > 0) logEvent(log, 'receipt_months_added', { added })
  })
}
