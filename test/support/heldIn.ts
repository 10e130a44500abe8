import type { Redis } from '../../contract/wire/redis.ts'
import { REST_CHANNEL } from '../../contract/wire/redisKeys.ts'
import { scanKeys } from '../../contract/wire/redisShards.ts'

const SCAN_COUNT = 1_000

/** The holds and the leases that are out, in a Redis of any kind. Leases that rest are called back. */
export async function heldIn(redis: Redis): Promise<string[]> {
  const held: string[] = []
  const accounts = new Set<string>()
  for await (const keys of scanKeys(redis, { match: 'holds:*', count: SCAN_COUNT })) held.push(...keys)
  for await (const keys of scanKeys(redis, { match: 'leases:*', count: SCAN_COUNT })) {
    for (const leases of await Promise.all(keys.map((key) => redis.hgetall(key)))) {
      for (const [field, text] of Object.entries(leases)) {
        if (!field.startsWith('L:')) continue
        held.push(field)
        accounts.add(text.slice(0, text.indexOf('|')))
      }
    }
  }
  await Promise.all([...accounts].map((accountId) => redis.publish(REST_CHANNEL, accountId)))
  return held
}
