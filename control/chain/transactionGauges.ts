import type { Queryable } from '../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../runtime/metrics/metricGroups.ts'

const NONE = { transactions_pending: 0, transactions_stuck: 0, transaction_oldest_seconds: 0 }

/** The gateway's transactions whose outcome is not known; only open rows are read, by their index. */
export function transactionGauges(db: Queryable): GaugeGroup {
  return gaugeGroup(
    {
      transactions_pending: 'Transactions of the gateway in no block',
      transactions_stuck: 'Transactions whose outcome is not known and that wait for an operator',
      transaction_oldest_seconds: 'Age of the oldest of these in no block',
    },
    async () => {
      const found = await db.query<typeof NONE>(`
        SELECT count(*) AS transactions_pending,
          coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS transaction_oldest_seconds,
          (SELECT count(*) FROM chain_transactions WHERE state = 'stuck') AS transactions_stuck
        FROM chain_transactions WHERE state = 'pending'`)
      return found.rows[0] ?? NONE
    },
  )
}
