import { coinPartText } from '../../../contract/wire/coinPart.ts'
import { accountKeys } from '../../../contract/wire/redisKeys.ts'
import type { ScriptArgument, ScriptKey } from '../../../contract/wire/scripts.ts'
import type { EndingRecord, LeaseName } from '../journal/records.ts'
import { grantsText, type Parts, PartsSum } from '../parts.ts'
import { count, flag, message, text } from '../protoText.ts'
import type { LeaseIdentity } from './leaseName.ts'

/** An ended request that is being delivered to Redis. */
export interface LeasedEnding extends Omit<EndingRecord, 'kind' | keyof LeaseName> {
  readonly lease: LeaseIdentity
  /** `split`, read. */
  readonly charged: Parts
}

/** The amounts that a lease gives back with a delivery. */
export interface GivenBack {
  readonly lease: LeaseIdentity
  readonly parts: Parts
  /** Permits of the rate, as deliver.lua takes them; empty for none. */
  readonly permits: string
}

/** An EndingBatch of messages.proto, one character a byte; encoded by hand, as its settlements are. */
export function batchText(owner: string, endings: readonly LeasedEnding[]): string {
  let ended = ''
  for (const { settlement, voided, heldAtMs, split } of endings) {
    ended += message(
      '\x1a',
      message('\x0a', settlement) + flag('\x10', voided) + count('\x18', heldAtMs) + text('\x22', split),
    )
  }
  return text('\x0a', owner) + count('\x10', endings[0]?.seq ?? 0) + ended
}

interface LeaseSums {
  readonly lease: LeaseIdentity
  readonly charged: PartsSum
  readonly back: PartsSum
  permits: string
}

/** Keys and arguments of deliver.lua after those of the shard and the call: the sums by lease. */
export function deliverArguments(
  endings: readonly LeasedEnding[],
  given: readonly GivenBack[],
): { keys: ScriptKey[]; args: ScriptArgument[] } {
  const sums = new Map<string, LeaseSums>()
  const of = (lease: LeaseIdentity): LeaseSums => {
    const known = sums.get(lease.field)
    if (known !== undefined) return known
    const fresh = { lease, charged: new PartsSum(), back: new PartsSum(), permits: '' }
    sums.set(lease.field, fresh)
    return fresh
  }
  for (const { lease, charged } of endings) of(lease).charged.add(charged)
  for (const { lease, parts, permits } of given) {
    const own = of(lease)
    own.back.add(parts)
    own.permits = permits
  }
  const keys: ScriptKey[] = []
  const args: ScriptArgument[] = [sums.size]
  for (const { lease, charged, back, permits } of sums.values()) {
    const { shard, accountId, field, keyId } = lease
    keys.push(accountKeys(shard, accountId, keyId))
    args.push(field, accountId, lease.keys)
    args.push(coinPartText(charged), grantsText(charged.grants), coinPartText(back), grantsText(back.grants), permits)
  }
  return { keys, args }
}
