import { accountKeys } from '../../contract/wire/redisKeys.ts'
import { ByteText, type FixedArguments } from '../../contract/wire/scriptArguments.ts'
import type { ScriptArgument, ScriptKey } from '../../contract/wire/scripts.ts'
import type { ShardKeyCache } from './shardKeyCache.ts'

/** The end of a request as it travels to Redis. */
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

/** Told once of the ending: by exactly one of the first two, and by the third if that one threw. */
export interface EndingWaiter {
  /** Redis has accepted it, with what was really charged. */
  onSettled(chargedUnits: number): void
  /**
   * What is charged is not known yet, or not by this process: the answer goes out without a receipt.
   * @param givenUp control has given the request up before: nothing is charged, and that stays so
   */
  onSettleDelayed(givenUp: boolean): void
  /** Telling it failed; the ending itself is looked after. */
  onCrashed(error: unknown): void
}

/** What ends holds. */
export interface Settling {
  /**
   * Ends a hold; `waiter` is told in a later turn how that went.
   * @param keys from accountKeys
   */
  end(ending: Ending, keys: FixedArguments, waiter: EndingWaiter | null): void
}

/** An ending that Redis has not accepted yet. */
export interface PendingEnding {
  readonly ending: Ending
  /** From accountKeys. */
  readonly keys: FixedArguments
  waiter: EndingWaiter | null
  readonly sinceMs: number
  /** It stands in the journal already. */
  readonly journaled: boolean
  /** Called once nothing more has to be done for it here. */
  readonly onDone: (() => void) | null
}

/** The Redis keys of an ending that comes without the principal of its request. */
export function keysOfEnding({ shard, accountId, keyId }: Ending): FixedArguments {
  return accountKeys(shard, accountId, keyId)
}

/** Keys and arguments of settle.lua for a batch. */
export function settleCall(
  batch: readonly PendingEnding[],
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
  pendings: readonly PendingEnding[],
  sizeMax: number,
  perShard: boolean,
): Array<readonly PendingEnding[]> {
  if (pendings.length === 0) return []
  if (!perShard && pendings.length <= sizeMax) return [pendings]
  const groups = new Map<number, PendingEnding[]>()
  for (const pending of pendings) {
    const group = perShard ? pending.ending.shard : 0
    const members = groups.get(group)
    if (members === undefined) groups.set(group, [pending])
    else members.push(pending)
  }
  const batches: PendingEnding[][] = []
  for (const members of groups.values()) {
    for (let from = 0; from < members.length; from += sizeMax) batches.push(members.slice(from, from + sizeMax))
  }
  return batches
}
