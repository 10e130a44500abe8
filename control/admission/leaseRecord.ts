import { type CoinPart, parseCoinPart } from '../../contract/wire/coinPart.ts'
import { parseLeaseText } from '../../contract/wire/countedText.ts'
import { parseGrants } from '../../contract/wire/grantParts.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { chargesField, parseCharges, withoutCharges } from '../../contract/wire/unsettled.ts'
import type { HoldRecord } from './holdRecord.ts'
import { type Owned, type OwnedKey, scanOwnedKeys } from './listHolds.ts'
import { keysOf } from './spendingKeys.ts'

const SCAN_COUNT = 1_000
const LEASE_FIELD = /^L:/

/** The outstanding amount of a lease without its charges that are delivered; see contract/wire/lua/README.md. */
export interface LeaseRecord
  extends CoinPart,
    Pick<HoldRecord, 'owner' | 'shard' | 'accountId' | 'keyId' | 'platformKeyId' | 'hour' | 'grants'> {
  /** Its name in the hash of its owner. */
  readonly field: string
  /** The part that is charged by delivered endings and not settled, nanos of coin and units of grants together. */
  readonly chargedOut: number
}

/** Units that a lease is counted for. */
export function unitsOf({ coinUnits, grants }: LeaseRecord): number {
  return grants.reduce((sum, { units }) => sum + units, coinUnits)
}

/** The amount that an account has out for a lease, nanos of coin and units of grants together. */
export function outOf({ chargedOut, ...lease }: LeaseRecord): number {
  return sumOf(lease) + chargedOut
}

function sumOf({ coinNanos, grants }: CoinPart & { readonly grants: readonly { readonly units: number }[] }): number {
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
    const names = fields.filter((field, i) => i % 2 === 0 && LEASE_FIELD.test(field))
    // Both texts of a lease have to be of the same moment.
    const texts = names.length === 0 ? [] : await redis.hmget(key, ...names, ...names.map(chargesField))
    const leases = names.flatMap((field, i) => {
      const lease = parseLease(shard, owner, field, texts[i] ?? '')
      return lease === undefined ? [] : [netOf(lease, texts[names.length + i] ?? null)]
    })
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

function netOf(lease: Omit<LeaseRecord, 'chargedOut'>, charges: string | null): LeaseRecord {
  if (charges === null) return { ...lease, chargedOut: 0 }
  const net = withoutCharges(lease, parseCharges(charges))
  return { ...lease, ...net, grants: [...net.grants], chargedOut: sumOf(lease) - sumOf(net) }
}

/** @returns undefined when the lease is gone, or its text does not have the form that lease.lua writes */
function parseLease(
  shard: number,
  owner: string,
  field: string,
  text: string,
): Omit<LeaseRecord, 'chargedOut'> | undefined {
  const lease = parseLeaseText(text)
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
    grants: parseGrants(parts),
  }
}
