import type { Refusal } from '../holdRefusal.ts'
import type { HoldWaiter } from '../holds.ts'
import type { Journal } from '../journal/journal.ts'
import type { AdmissionLimits } from '../limits.ts'
import type { LeasedEnding } from './batch.ts'
import type { LeaseScripts } from './leaseScripts.ts'
import type { NextTurn } from './nextTurn.ts'
import type { RedisClock } from './redisClock.ts'
import type { RestingKeys } from './restingKeys.ts'

/** The services that the leases of a process share. */
export interface LeaseContext {
  readonly owner: string
  readonly scripts: LeaseScripts
  readonly limits: AdmissionLimits
  readonly clock: RedisClock
  readonly journal: Journal
  readonly resting: RestingKeys
  readonly turn: NextTurn
  /** A call can reach Redis now, and control has loaded its state. */
  readonly connected: () => boolean
  /** A number that changes when another server may have answered. */
  readonly serverChanges: () => number
  /** Redis has answered recently, so that this process is not taken for dead. */
  readonly mayUse: boolean
  /** The account is leased hold by hold for now. */
  isExact(accountId: string): boolean
  refuse(waiter: HoldWaiter, refusal: Refusal): void
  /** Recalls the idle leases of an account from all processes. */
  recall(accountId: string): void
  /** Retries after a short pause, in which other processes may give leases back. */
  retrySoon(retry: () => void): void
  /** Redis has answered a call that was sent at this time, by performance.now(). */
  answered(sentAtMs: number, redisMs: number): void
  /** How far the endings of this process are booked, by shard. @throws while control does not know or does not answer */
  booked(): Promise<ReadonlyMap<number, number>>
  /**
   * The endings of a shard with numbers above `afterSeq`, up to `lastSeq`, as they are in the journal.
   * @throws the error of the file system
   */
  journaled(shard: number, afterSeq: number, lastSeq: number): Promise<LeasedEnding[]>
  readonly onFault: (error: unknown) => void
}
