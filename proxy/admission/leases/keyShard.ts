import type { Held } from '../held.ts'
import type { HoldWaiter } from '../holds.ts'
import type { Lease } from './lease.ts'

/** The functions of their shard that a key's leases need. */
export interface KeyShard<Key> {
  /** Makes the shard ask Redis for this key. */
  want(key: Key): void
  /** A request has its hold. */
  opened(waiter: HoldWaiter, lease: Lease, held: Held): void
  /** The lease under this name, which is kept until Redis has all of it back. */
  leaseOf(accountId: string, keys: string, hour: number): Lease
}
