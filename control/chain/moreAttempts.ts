import type { Limits } from '../limits.ts'
import { GATEWAY_WIDE, OPERATOR, recordActivity } from '../runtime/activity/activity.ts'
import type { Client } from '../runtime/db/pool.ts'

/**
 * Lets what is to be paid on the chain be sent again after its attempts were used up, in the caller's transaction.
 * @param id of a withdrawal or a refund, or a share of the revenue as `reward/PERIOD` or `vault/PERIOD`
 * @param reason of the operator, kept in the trail
 * @returns whether there is such a one that is not sent
 */
export async function allowAttempts(client: Client, id: string, reason: string, limits: Limits): Promise<boolean> {
  const isAllowed =
    (await raise(
      client,
      `withdrawals SET attempts_max = attempts + $2 WHERE id = $1 AND state = 'sending'`,
      id,
      limits.withdrawalAttemptsMax,
    )) ||
    (await raise(
      client,
      `refunds SET attempts_max = attempts + $2, state = 'sending' WHERE id = $1 AND state IN ('sending', 'stuck')`,
      id,
      limits.refundAttemptsMax,
    )) ||
    (await raise(
      client,
      `revenue_payouts SET attempts_max = attempts + $2 WHERE purpose || '/' || number = $1 AND state = 'sending'`,
      id,
      limits.payoutAttemptsMax,
    ))
  if (isAllowed) {
    await recordActivity(client, OPERATOR, [
      { accountId: GATEWAY_WIDE, type: 'transfer.retried', target: id, details: { reason } },
    ])
  }
  return isAllowed
}

async function raise(client: Client, change: string, id: string, attempts: number): Promise<boolean> {
  return (await client.query(`UPDATE ${change}`, [id, attempts])).rowCount === 1
}
