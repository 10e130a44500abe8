import type { Redis } from '../../contract/wire/redis.ts'
import { leasesKey, OWNERS_KEY, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { readLeases, unitsOf } from '../admission/leaseRecord.ts'
import { type GaugeGroup, gaugeGroup } from '../runtime/metrics/metricGroups.ts'

/** How much is out in leases of the proxy processes that control still watches. */
export function leaseGauges(redis: Redis): GaugeGroup {
  return gaugeGroup(
    {
      lease_owners: 'Proxy processes that have something leased',
      leases: 'Leases of which something is out',
      leases_out_units: 'Units out in leases: free, held, or charged and not delivered',
    },
    () => sampleLeases(redis),
  )
}

/** Adds up the leases. @throws Error when Redis cannot be asked */
async function sampleLeases(redis: Redis) {
  if (redis.status !== 'ready') throw new Error('no connection to Redis')
  const owners = await redis.zrange(OWNERS_KEY, '0', '-1')
  let [having, leases, units] = [0, 0, 0]
  for (const owner of owners) {
    const own = await Promise.all(Array.from({ length: SHARD_COUNT }, (_, shard) => sampleShard(redis, shard, owner)))
    const count = own.reduce((sum, some) => sum + some.leases, 0)
    if (count > 0) having++
    leases += count
    units += own.reduce((sum, some) => sum + some.units, 0)
  }
  return { lease_owners: having, leases, leases_out_units: units }
}

async function sampleShard(redis: Redis, shard: number, owner: string): Promise<{ leases: number; units: number }> {
  let [leases, units] = [0, 0]
  for await (const page of readLeases(redis, { key: leasesKey(shard, owner), shard, owner })) {
    leases += page.length
    for (const lease of page) units += unitsOf(lease)
  }
  return { leases, units }
}
