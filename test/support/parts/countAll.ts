import { countOutcomes } from '../../../control/book/statistics/countOutcomes.ts'
import { countReceipts } from '../../../control/book/statistics/countReceipts.ts'
import { payProviders } from '../../../control/products/marketplace/serving/payProviders.ts'
import { payShares } from '../../../control/products/transfers/referrals/share.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../limits.ts'

/** Has all that control's loops do with the receipts in the book done, so that their month may be archived. */
export async function countAll(pool: Pool): Promise<void> {
  while (await payShares(pool, limits));
  while (await payProviders(pool, limits));
  while (await countReceipts(pool, limits));
  while (await countOutcomes(pool, limits));
}
