import { ByteText, type FixedArguments } from '../../contract/wire/scriptArguments.ts'
import type { ScriptArgument, ScriptKey } from '../../contract/wire/scripts.ts'
import type { ShardKeyCache } from './shardKeyCache.ts'

/** The end of a request. */
export interface Ending {
  readonly requestId: string
  /** The proxy process that took the hold. */
  readonly owner: string
  readonly accountId: string
  readonly keyId: string
  readonly shard: number
  /** Units to charge, or -1 to void the hold. */
  readonly chargeUnits: number
  /** From settlementText. */
  readonly settlement: string
}

/** Called once with the result: by exactly one of the first two callbacks, and by the third if that one threw. */
export interface EndingWaiter {
  /** It is in the journal, with the charge. */
  onSettled(chargedUnits: number): void
  /** The charge is not certain yet: the answer is sent without a receipt. */
  onSettleDelayed(): void
  /** A callback threw; the ending itself is processed all the same. */
  onCrashed(error: unknown): void
}

/** A service that ends holds. */
export interface Settling {
  /**
   * Ends a hold; `waiter` gets the result in a later turn.
   * @param keys from accountKeys
   */
  end(ending: Ending, keys: FixedArguments, waiter: EndingWaiter | null): void
}

/** The service that ends the holds of requests. */
export interface Settlements extends Settling {
  /** Waiters are called back in the next turn, independent of Redis and disks. */
  readonly endsInTurn: boolean
}

/** A hold that is to be voided if it was taken. */
export interface StrayEnding {
  readonly ending: Ending
  /** From accountKeys. */
  readonly keys: FixedArguments
  /** By performance.now(). */
  readonly sinceMs: number
}

/** Keys and arguments of settle.lua for a batch. */
export function settleCall(
  batch: readonly StrayEnding[],
  rememberMinutes: number,
  shardKeys: ShardKeyCache,
): { keys: ScriptKey[]; args: ScriptArgument[] } {
  const keys: ScriptKey[] = []
  const args: ScriptArgument[] = [batch.length, rememberMinutes]
  for (const { ending, keys: own } of batch) {
    const shard = shardKeys.of(ending.owner, ending.shard)
    keys.push(shard.epoch, own, shard.behindSettle)
    args.push(ending.requestId, ending.chargeUnits, new ByteText(ending.settlement))
  }
  return { keys, args }
}

/** Splits endings into calls of `sizeMax`, each of one shard where Redis takes no call across shards. */
export function inBatches(
  strays: readonly StrayEnding[],
  sizeMax: number,
  perShard: boolean,
): Array<readonly StrayEnding[]> {
  if (strays.length === 0) return []
  if (!perShard && strays.length <= sizeMax) return [strays]
  const groups = new Map<number, StrayEnding[]>()
  for (const stray of strays) {
    const group = perShard ? stray.ending.shard : 0
    const members = groups.get(group)
    if (members === undefined) groups.set(group, [stray])
    else members.push(stray)
  }
  const batches: StrayEnding[][] = []
  for (const members of groups.values()) {
    for (let from = 0; from < members.length; from += sizeMax) batches.push(members.slice(from, from + sizeMax))
  }
  return batches
}
