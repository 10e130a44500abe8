import type { Limits } from '../limits.ts'
import { allowPayoutAttempts } from '../products/holders/rewards/payoutRow.ts'
import { allowRefundAttempts } from '../products/payments/refunds/refundAttempts.ts'
import { allowWithdrawalAttempts } from '../products/payments/withdrawals/withdrawalRow.ts'
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
    (await allowWithdrawalAttempts(client, id, limits.withdrawalAttemptsMax)) ||
    (await allowRefundAttempts(client, id, limits.refundAttemptsMax)) ||
    (await allowPayoutAttempts(client, id, limits.payoutAttemptsMax))
  if (isAllowed) {
    await recordActivity(client, OPERATOR, [
      { accountId: GATEWAY_WIDE, type: 'transfer.retried', target: id, details: { reason } },
    ])
  }
  return isAllowed
}
