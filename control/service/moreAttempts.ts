import type { Limits } from '../limits.ts'
import { GATEWAY_WIDE, OPERATOR, recordActivity } from '../runtime/activity/activity.ts'
import type { Client } from '../runtime/db/pool.ts'
import { PRODUCTS } from './products.ts'

/**
 * Lets what is to be paid on the chain be sent again after its attempts were used up, in the caller's transaction.
 * @param id of a withdrawal or a refund, or a share of the revenue as `reward/PERIOD` or `vault/PERIOD`
 * @param reason of the operator, kept in the trail
 * @returns whether there is such a one that is not sent
 */
export async function allowAttempts(client: Client, id: string, reason: string, limits: Limits): Promise<boolean> {
  for (const product of PRODUCTS) {
    if ((await product.allowAttempts?.(client, id, limits)) !== true) continue
    await recordActivity(client, OPERATOR, [
      { accountId: GATEWAY_WIDE, type: 'transfer.retried', target: id, details: { reason } },
    ])
    return true
  }
  return false
}
