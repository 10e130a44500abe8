import { hashSecret } from './ids.ts'
import { clusterOf, type Redis } from './redis.ts'
import { epochKey, keyRecordKey, shardOf } from './redisKeys.ts'

/**
 * The form of the key records in Redis. It has another number whenever a field is added to KeyRecord or the messages in it, so
 * that no process reads a record of a control that did not know the field; a test names those fields.
 */
export const KEY_RECORD_FORM = 3

/** The place of a key's record in Redis. Hashes act as credentials on the bus, so that the name has a hash of the hash. */
export interface KeptKey {
  readonly keyHash: string
  readonly shard: number
  readonly epochKey: string
  readonly recordKey: string
}

/** @param keyHash as in `hashSecret` */
export function keptKey(keyHash: string): KeptKey {
  const shard = shardOf(keyHash)
  return { keyHash, shard, epochKey: epochKey(shard), recordKey: keyRecordKey(shard, hashSecret(keyHash)) }
}

/** The context that the record of a key in Redis is sealed in. */
export const keyRecordLabel = (keyHash: string): string => `key:${KEY_RECORD_FORM}:${keyHash}`

/** The keys in groups that a script takes in one call: in a cluster those of one shard, elsewhere all. */
export function keptKeyGroups(redis: Redis, keyHashes: readonly string[]): readonly (readonly KeptKey[])[] {
  const keys = keyHashes.map(keptKey)
  if (clusterOf(redis) === undefined) return keys.length === 0 ? [] : [keys]
  const groups = new Map<number, KeptKey[]>()
  for (const key of keys) {
    const group = groups.get(key.shard)
    if (group === undefined) groups.set(key.shard, [key])
    else group.push(key)
  }
  return [...groups.values()]
}
