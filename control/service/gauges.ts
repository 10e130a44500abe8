import type { Redis } from '../../contract/wire/redis.ts'
import { batchGauges } from '../batch/batchGauges.ts'
import { checkpointGauges } from '../book/checkpoint/checkpointGauges.ts'
import { priceGauges } from '../catalog/priceLists/priceGauges.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { GaugeGroup } from '../runtime/metrics/metricGroups.ts'
import { backlogGauges } from './backlogGauges.ts'
import type { Environment } from './environment.ts'
import { leaseGauges } from './leaseGauges.ts'

/** The gauges of everything but the products. */
export function gaugesOf(pool: Pool, redis: Redis, { logKey }: Pick<Environment, 'logKey'>): GaugeGroup[] {
  const common = [leaseGauges(redis), backlogGauges(redis), batchGauges(pool), priceGauges(pool)]
  return logKey === undefined ? common : [...common, checkpointGauges(pool)]
}
