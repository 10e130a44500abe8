import type { Principal } from '../../access/principal.ts'

/** Units are counted in windows of an hour. */
export const HOUR_MS = 3_600_000

export interface LeaseOrigin {
  readonly shard: number
  readonly accountId: string
  /** `keyId`, or `keyId/platformKeyId` of a sub-key. */
  readonly keys: string
  /** The hour that its units are counted in, since 1970 on Redis's clock. */
  readonly hour: number
}

/** A lease by its name. */
export interface LeaseIdentity extends LeaseOrigin {
  /** Of the hash of leases in Redis. */
  readonly field: string
  readonly keyId: string
}

/** The key that a lease is of, without its platform key. */
export function keyIdOf({ keys }: Pick<LeaseOrigin, 'keys'>): string {
  const end = keys.indexOf('/')
  return end < 0 ? keys : keys.slice(0, end)
}

/** The name of a lease in Redis. @param keys of a key; of the single hold of a request, its id */
export function leaseField(keys: string, hour: number): string {
  return `L:${keyIdOf({ keys })}:${hour}`
}

/** The keys of a principal's lease. */
export function keysOf({ keyId, platform }: Pick<Principal, 'keyId' | 'platform'>): string {
  return platform === null ? keyId : `${keyId}/${platform.keyId}`
}

/** The hour in the name of a lease. */
export function hourOf(field: string): number {
  return Number(field.slice(field.lastIndexOf(':') + 1))
}
