import type { Redis } from '../../contract/wire/redis.ts'
import { SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { pipelineOf, scanKeys } from '../../contract/wire/redisShards.ts'
import { type HoldRecord, parseHold } from './holdRecord.ts'
import { answersOf } from './scripts.ts'

const SCAN_COUNT = 1_000
const OWNED_KEY = /^(?:holds|leases):\{s(\d\d)\}:(.+)$/

/** Where the holds or leases of one proxy process in one shard are. */
export interface OwnedKey {
  readonly key: string
  readonly shard: number
  readonly owner: string
}

/** A filter by shard and owner; an absent member matches all. */
export type Owned = Partial<Pick<OwnedKey, 'shard' | 'owner'>>

/** Every hash of holds there is, also of owners that no longer live. Goes over all keys of Redis in small steps. */
export function scanHoldsKeys(redis: Redis, owned: Owned = {}): Promise<OwnedKey[]> {
  return scanOwnedKeys(redis, 'holds', owned)
}

/** The shards that have a key. @param keyOf the key in a shard @throws errors of Redis */
export async function shardsWith(redis: Redis, keyOf: (shard: number) => string): Promise<number[]> {
  const pipeline = pipelineOf(redis)
  for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.exists(keyOf(shard))
  const isThere = answersOf(await pipeline.exec())
  return [...isThere.keys()].filter((shard) => isThere[shard] === 1)
}

/** As `scanHoldsKeys`, for both holds and leases. */
export async function scanOwnedKeys(
  redis: Redis,
  kind: 'holds' | 'leases',
  { shard, owner = '*' }: Owned,
): Promise<OwnedKey[]> {
  const tag = shard === undefined ? '*' : `{s${shard.toString().padStart(2, '0')}}`
  const pattern = `${kind}:${tag}:${owner}`
  const found = new Map<string, OwnedKey>()
  for await (const keys of scanKeys(redis, { match: pattern, count: SCAN_COUNT })) {
    for (const key of keys) {
      const match = OWNED_KEY.exec(key)
      if (match !== null) found.set(key, { key, shard: Number(match[1]), owner: match[2] ?? '' })
    }
  }
  return [...found.values()]
}

/** The holds in one hash, a page at a time. One that changes during the scan may be returned twice or not at all. */
export async function* readHolds(redis: Redis, { key, shard, owner }: OwnedKey): AsyncGenerator<HoldRecord[]> {
  let cursor = '0'
  do {
    const [next, fields] = await redis.hscan(key, cursor, 'COUNT', SCAN_COUNT)
    const holds: HoldRecord[] = []
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const hold = parseHold(shard, owner, fields[i] ?? '', fields[i + 1] ?? '')
      if (hold !== undefined) holds.push(hold)
    }
    if (holds.length > 0) yield holds
    cursor = next
  } while (cursor !== '0')
}

/** All open holds, oldest first. */
export async function listHolds(redis: Redis): Promise<HoldRecord[]> {
  const byRequest = new Map<string, HoldRecord>()
  for (const key of await scanHoldsKeys(redis)) {
    for await (const page of readHolds(redis, key)) for (const hold of page) byRequest.set(hold.requestId, hold)
  }
  return [...byRequest.values()].sort((a, b) => a.heldAtMs - b.heldAtMs)
}
