import { after, before, beforeEach } from 'node:test'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { awayFromTheHour } from '../awayFromTheHour.ts'
import { startTestRedis, type TestServer } from '../services.ts'
import { LeaseOwner } from './leaseOwner.ts'
import { openShards, plainAccount } from './leaseState.ts'

/** Gives the tests of a file a Redis without a book and, each, an owner in an open admission. @param take is given them before each test */
export function eachWithOwner(take: (parts: { redis: Redis; owner: LeaseOwner }) => void): void {
  let server: TestServer
  let redis: Redis
  before(async () => {
    server = await startTestRedis()
    redis = connectRedis(server.url, 'wait')
  })
  beforeEach(async () => {
    await awayFromTheHour()
    await openShards(redis)
    const owner = new LeaseOwner(redis)
    await owner.open()
    take({ redis, owner })
  })
  after(async () => {
    redis.disconnect()
    await server.stop()
  })
}

/** An account with a lease of 400: all of the grant, which has 100, and 300 of coin. 700 of coin are free. */
export async function leasedAccount(redis: Redis, owner: LeaseOwner): Promise<{ accountId: string; shard: number }> {
  const accountId = await plainAccount(redis, { coin: 1_000, grants: [{ id: 'grt_a', units: 100 }] })
  await owner.leaseOne({ accountId, want: 400 })
  return { accountId, shard: shardOf(accountId) }
}
