import { type CoinPart, parseCoinPart } from '../../contract/wire/coinPart.ts'
import { parseLeaseText } from '../../contract/wire/countedText.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { type HoldRecord, partsOf } from './holdRecord.ts'
import { type Owned, type OwnedKey, scanOwnedKeys } from './listHolds.ts'
import { keysOf } from './spendingKeys.ts'

const SCAN_COUNT = 1_000
const LEASE_FIELD = /^L:/

/** The outstanding amount of a lease, as Redis keeps it; see contract/wire/lua/README.md. */
export interface LeaseRecord
  extends CoinPart,
    Pick<HoldRecord, 'owner' | 'shard' | 'accountId' | 'keyId' | 'platformKeyId' | 'hour' | 'grants'> {
  /** Its name in the hash of its owner. */
  readonly field: string
}

/** Units that a lease is counted for. */
export function unitsOf({ coinUnits, grants }: LeaseRecord): number {
  return grants.reduce((sum, { units }) => sum + units, coinUnits)
}

/** The outstanding amount of a lease, nanos of coin and units of grants together: above zero as long as any is outstanding. */
export function outOf({ coinNanos, grants }: LeaseRecord): number {
  return grants.reduce((sum, { units }) => sum + units, coinNanos)
}

/** Every hash of leases there is, also of owners that no longer live. Goes over all keys of Redis in small steps. */
export function scanLeasesKeys(redis: Redis, owned: Owned = {}): Promise<OwnedKey[]> {
  return scanOwnedKeys(redis, 'leases', owned)
}

/** The leases in one hash, a page at a time. One that changes during the scan may be returned twice or not at all. */
export async function* readLeases(redis: Redis, { key, shard, owner }: OwnedKey): AsyncGenerator<LeaseRecord[]> {
  let cursor = '0'
  do {
    const [next, fields] = await redis.hscan(key, cursor, 'COUNT', SCAN_COUNT)
    const leases: LeaseRecord[] = []
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const lease = parseLease(shard, owner, fields[i] ?? '', fields[i + 1] ?? '')
      if (lease !== undefined) leases.push(lease)
    }
    if (leases.length > 0) yield leases
    cursor = next
  } while (cursor !== '0')
}

/** All leases in some hashes, each once. */
export async function listLeases(redis: Redis, keys: readonly OwnedKey[]): Promise<LeaseRecord[]> {
  const found = new Map<string, LeaseRecord>()
  for (const key of keys) {
    for await (const page of readLeases(redis, key)) {
      for (const lease of page) found.set(`${key.key} ${lease.field}`, lease)
    }
  }
  return [...found.values()]
}

/** @returns undefined when the field is no lease, or its text does not have the form that lease.lua writes */
function parseLease(shard: number, owner: string, field: string, text: string): LeaseRecord | undefined {
  const lease = LEASE_FIELD.test(field) ? parseLeaseText(text) : undefined
  if (lease === undefined) return undefined
  const { accountId, keys, hour, coin, parts } = lease
  return {
    field,
    owner,
    shard,
    accountId,
    ...keysOf(keys),
    hour,
    ...parseCoinPart(coin),
    grants: partsOf(parts),
  }
}
