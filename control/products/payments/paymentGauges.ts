import type { Queryable } from '../../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../../runtime/metrics/metricGroups.ts'

const NONE = {
  payments_settling: 0,
  payments_serving: 0,
  refunds_sending: 0,
  refunds_stuck: 0,
  deposits_settling: 0,
  withdrawals_sending: 0,
  withdrawal_oldest_seconds: 0,
}

/** Payments, refunds, deposits and withdrawals under way; only open rows are read, by their indexes. */
export function paymentGauges(db: Queryable): GaugeGroup {
  return gaugeGroup(
    {
      payments_settling: 'Payments whose transfer is in no block yet',
      payments_serving: 'Payments made whose requests are being served',
      refunds_sending: 'Refunds not sent yet',
      refunds_stuck: 'Refunds that failed too often and wait for an operator',
      deposits_settling: 'Gasless deposits not credited yet',
      withdrawals_sending: 'Withdrawals not sent yet',
      withdrawal_oldest_seconds: 'Age of the oldest of these',
    },
    async () => {
      const found = await db.query<typeof NONE>(`
        SELECT p.*, w.*, (SELECT count(*) FROM refunds WHERE state = 'sending') AS refunds_sending,
          (SELECT count(*) FROM refunds WHERE state = 'stuck') AS refunds_stuck,
          (SELECT count(*) FROM deposits WHERE state = 'settling') AS deposits_settling
        FROM
          (SELECT count(*) FILTER (WHERE state = 'settling') AS payments_settling,
             count(*) FILTER (WHERE state = 'paid') AS payments_serving
           FROM payments WHERE state IN ('settling', 'paid')) p,
          (SELECT count(*) AS withdrawals_sending,
             coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS withdrawal_oldest_seconds
           FROM withdrawals WHERE state = 'sending') w`)
      return found.rows[0] ?? NONE
    },
  )
}
