import { DAY_MS } from '../../../../contract/api/time.ts'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { idBound } from '../../../book/partitions/idTime.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { PaymentsLimits } from '../limits.ts'

const RETRY_SECONDS = 3_600

/**
 * Bounds by wallet and day the payments whose gas nobody pays: those that failed on the chain, and those that went back whole
 * because nothing was served. All others are charged the smallest charge, which covers it.
 * @throws GatewayError payments_busy
 */
export async function refuseUncovered(db: Queryable, payer: Address, limits: PaymentsLimits): Promise<void> {
  const most = limits.uncoveredPaymentsPerDay
  const found = await db.query(
    `SELECT FROM payments WHERE payer = $1 AND id >= $2 AND (state = 'failed' OR back_now) LIMIT $3`,
    [payer, idBound(Date.now() - DAY_MS), most],
  )
  if ((found.rowCount ?? 0) < most) return
  throw new GatewayError('payments_busy', {
    message: `Within 24 hours, ${most} payments of this wallet failed or went back whole, whose gas the gateway paid; wait, or use an API key.`,
    retryAfterSeconds: RETRY_SECONDS,
  })
}
