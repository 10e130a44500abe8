import type { Redis } from '../../contract/wire/redis.ts'
import { leasesKey, OWNERS_KEY, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { readLeases, unitsOf } from '../admission/leaseRecord.ts'

/** How much is out in leases. */
export interface LeaseSample {
  /** Proxy processes that have something. */
  readonly owners: number
  readonly leases: number
  readonly units: number
}

export const NO_LEASES: LeaseSample = { owners: 0, leases: 0, units: 0 }

/** Adds up the leases of the proxy processes that control still watches. @throws Error when Redis can not be asked */
export async function sampleLeases(redis: Redis): Promise<LeaseSample> {
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
  return { owners: having, leases, units }
}

async function sampleShard(redis: Redis, shard: number, owner: string): Promise<{ leases: number; units: number }> {
  let [leases, units] = [0, 0]
  for await (const page of readLeases(redis, { key: leasesKey(shard, owner), shard, owner })) {
    leases += page.length
    for (const lease of page) units += unitsOf(lease)
  }
  return { leases, units }
}
