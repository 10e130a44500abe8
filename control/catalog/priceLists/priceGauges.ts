import { countOf } from '../../runtime/db/count.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../../runtime/metrics/metricGroups.ts'

/** Prices of lists with the prices sold now. */
export function priceGauges(db: Queryable): GaugeGroup {
  return gaugeGroup({ prices_above_sold: 'Models whose list price is above what is sold' }, async () => {
    const found = await countOf(
      db,
      'SELECT count(*) AS count FROM price_observations WHERE is_current AND is_above_sold',
    )
    return { prices_above_sold: found }
  })
}
