import type { Queryable } from '../../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../../runtime/metrics/metricGroups.ts'

/** Batches, from the last one back, among which those are that may not be anchored. */
const BATCHES_OPEN_MAX = 100
const NONE = { settlements_pending: 0, settlement_oldest_seconds: 0 }

/** Settlement batches that are not on the chain. */
export function settlementGauges(db: Queryable): GaugeGroup {
  return gaugeGroup(
    {
      settlements_pending: 'Settlement batches not anchored yet',
      settlement_oldest_seconds: 'Age of the oldest of these',
    },
    async () => {
      const found = await db.query<typeof NONE>(`
        SELECT count(*) AS settlements_pending,
          coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS settlement_oldest_seconds
        FROM (SELECT number, created_at FROM settlement_batches ORDER BY number DESC LIMIT ${BATCHES_OPEN_MAX}) b
        WHERE NOT EXISTS (SELECT FROM chain_transactions WHERE purpose = 'settlement' AND state = 'mined'
          AND subject_id = b.number::text)`)
      return found.rows[0] ?? NONE
    },
  )
}
