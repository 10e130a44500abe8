import type { Principal } from '../../access/principal.ts'
import { KeyLeases } from './keyLeases.ts'
import type { KeyShard } from './keyShard.ts'
import type { LeaseContext } from './leaseContext.ts'

/** The keys of a shard: those in use, and apart from them those whose leases rest, which nothing has to look at meanwhile. */
export class KeyTable {
  private readonly shard: KeyShard<KeyLeases>
  private readonly context: LeaseContext
  private readonly inUse = new Map<string, KeyLeases>()
  private readonly resting = new Map<string, KeyLeases>()
  private readonly onEnded: () => void

  /** @param onEnded called when a lease does not rest any longer and is to be given back soon */
  constructor(shard: KeyShard<KeyLeases>, context: LeaseContext, onEnded: () => void) {
    this.shard = shard
    this.context = context
    this.onEnded = onEnded
  }

  get isEmpty(): boolean {
    return this.inUse.size === 0 && this.resting.size === 0
  }

  /** Some are in use. */
  get areUsed(): boolean {
    return this.inUse.size > 0
  }

  find(keyId: string): KeyLeases | undefined {
    return this.inUse.get(keyId) ?? this.resting.get(keyId)
  }

  /** A request has come for this key. */
  use(principal: Principal): KeyLeases {
    const { keyId } = principal
    const used = this.inUse.get(keyId)
    if (used !== undefined) return used
    const rested = this.resting.get(keyId)
    if (rested !== undefined) {
      this.wake(rested)
      return rested
    }
    const key = new KeyLeases(principal, this.shard, this.context)
    this.inUse.set(keyId, key)
    return key
  }

  /** Gives up everything of an account that is not held. */
  recall(accountId: string, nowMs: number): void {
    for (const key of this.resting.values()) if (key.accountId === accountId) this.wake(key)
    for (const key of this.inUse.values()) if (key.accountId === accountId) key.giveUp(nowMs, true)
  }

  /** The lease of a key does not rest any longer: the key has changed, or is gone. */
  endRestOf(keyId: string): void {
    const key = this.find(keyId)
    if (key !== undefined) this.endRest(key)
  }

  /** No lease rests any longer, also none of a key that was in use a moment ago. @param accountId absent for all */
  endRests(accountId?: string): void {
    const isMeant = (key: KeyLeases): boolean => accountId === undefined || key.accountId === accountId
    for (const key of this.resting.values()) if (isMeant(key)) this.endRest(key)
    for (const key of this.inUse.values()) if (isMeant(key)) this.endRest(key)
  }

  private endRest(key: KeyLeases): void {
    this.wake(key)
    key.endRest(this.context.clock.now())
    this.onEnded()
  }

  /** Gives up the units that the keys in use do not need now. @param all everything of every key that is not held */
  review(nowMs: number, all: boolean): void {
    if (all) this.wakeAll()
    for (const key of this.inUse.values()) {
      if (!all && key.isQuiet(nowMs)) continue
      key.giveUp(nowMs, all)
      if (key.isDone(nowMs)) this.inUse.delete(key.keyId)
      else if (key.rests(nowMs)) this.rest(key)
    }
  }

  /** No key rests any longer: what its lease had may be void. */
  wakeAll(): void {
    for (const key of this.resting.values()) this.wake(key)
  }

  private rest(key: KeyLeases): void {
    this.inUse.delete(key.keyId)
    this.resting.set(key.keyId, key)
    this.context.resting.add(key, () => this.endRest(key))
  }

  private wake(key: KeyLeases): void {
    if (!this.resting.delete(key.keyId)) return
    this.inUse.set(key.keyId, key)
    this.context.resting.remove(key)
  }
}
