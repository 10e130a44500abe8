import type { Redis } from '../../contract/wire/redis.ts'
import { scanKeys } from '../../contract/wire/redisShards.ts'

const SCAN_COUNT = 1_000

/** The holds and the leases that are out, in a Redis of any kind. */
export async function heldIn(redis: Redis): Promise<string[]> {
  const held: string[] = []
  for await (const keys of scanKeys(redis, { match: 'holds:*', count: SCAN_COUNT })) held.push(...keys)
  for await (const keys of scanKeys(redis, { match: 'leases:*', count: SCAN_COUNT })) {
    const leases = await Promise.all(keys.map((key) => redis.hkeys(key)))
    held.push(...leases.flat().filter((field) => field.startsWith('L:')))
  }
  return held
}
