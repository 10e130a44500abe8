import type { Redis } from '../../../contract/wire/redis.ts'
import { donePrefix, holdsKey, OWNERS_KEY, SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'
import type { RecordsLimits } from '../limits.ts'

/**
 * Whether Redis knows a request of this shard: its hold is open, or it ended in the last minutes.
 * @throws Error when Redis cannot be asked
 */
export function isUnderWay(redis: Redis, shard: number, requestId: string, limits: RecordsLimits): Promise<boolean> {
  return isInShards(redis, [shard], requestId, limits)
}

/** As `isUnderWay`, for callers that do not know the account: it reads every shard, which is some hundred small reads. */
export function isUnderWayAnywhere(redis: Redis, requestId: string, limits: RecordsLimits): Promise<boolean> {
  return isInShards(redis, Array.from({ length: SHARD_COUNT }).keys(), requestId, limits)
}

async function isInShards(
  redis: Redis,
  shards: Iterable<number>,
  requestId: string,
  limits: RecordsLimits,
): Promise<boolean> {
  const [owners, nowMs] = await Promise.all([redis.zrange(OWNERS_KEY, '0', '-1'), redisNowMs(redis)])
  const minute = Math.floor(nowMs / 60_000)
  const keys: string[] = []
  for (const shard of shards) {
    for (const owner of owners) keys.push(holdsKey(shard, owner))
    // Also the next minute, which may have begun since Redis was asked for the time.
    for (let back = -1; back <= limits.rememberResultMinutes; back++) keys.push(`${donePrefix(shard)}:${minute - back}`)
  }
  const found = await Promise.all(keys.map((key) => redis.hexists(key, requestId)))
  return found.includes(1)
}
