import type { Redis } from '../../contract/wire/redis.ts'
import { batchGauges } from '../batch/batchGauges.ts'
import { checkpointGauges } from '../book/checkpoint/checkpointGauges.ts'
import { priceGauges } from '../catalog/priceLists/priceGauges.ts'
import { exportGauges } from '../records/export/exportGauges.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { GaugeGroup } from '../runtime/metrics/metricGroups.ts'
import { backlogGauges } from './backlogGauges.ts'
import type { Environment } from './environment.ts'
import { leaseGauges } from './leaseGauges.ts'

/** The gauges of everything but the products; those of checkpoints and exports where control makes them. */
export function gaugesOf(pool: Pool, redis: Redis, environment: Pick<Environment, 'logKey' | 'export'>): GaugeGroup[] {
  return [
    leaseGauges(redis),
    backlogGauges(redis),
    batchGauges(pool),
    priceGauges(pool),
    ...(environment.logKey === undefined ? [] : [checkpointGauges(pool)]),
    ...(environment.export === undefined ? [] : [exportGauges(pool)]),
  ]
}
