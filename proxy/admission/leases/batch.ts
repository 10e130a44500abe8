import { coinPartText } from '../../../contract/wire/coinPart.ts'
import { accountKeys, keyCountersKey } from '../../../contract/wire/redisKeys.ts'
import type { ScriptArgument, ScriptKey } from '../../../contract/wire/scripts.ts'
import { chargesField } from '../../../contract/wire/unsettled.ts'
import type { EndingRecord, LeaseName } from '../journal/records.ts'
import { grantsText, isNothing, type Parts, PartsSum } from '../parts.ts'
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

/**
 * The charges of a lease that Redis has without having settled them, with these; null where they are to be settled now.
 * @param field of the lease
 */
export type Unsettled = (field: string, charged: Parts) => Parts | null

export interface DeliverArguments {
  readonly keys: ScriptKey[]
  readonly args: ScriptArgument[]
  /** The fields of the leases whose charges are not settled now. */
  readonly unsettled: ReadonlySet<string>
  /** The keys whose permits were used and not taken, in the order in which Redis answers how many are left. */
  readonly owing: readonly string[]
}

const SETTLED: Unsettled = () => null

/** Keys and arguments of deliver.lua after those of the shard and the call, but for the last one: the sums by lease. */
export function deliverArguments(
  endings: readonly LeasedEnding[],
  given: readonly GivenBack[],
  unsettledWith: Unsettled = SETTLED,
): DeliverArguments {
  const sums = sumsOf(endings, given)
  const returning = new Set(given.filter(({ parts }) => !isNothing(parts)).map(({ lease }) => lease.field))
  const keys: ScriptKey[] = []
  const args: ScriptArgument[] = []
  const rates: LeaseSums[] = []
  const owing: string[] = []
  const unsettled = new Map<string, Parts>()
  for (const one of sums) {
    const { lease, charged, back, permits } = one
    const { shard, accountId, field, keyId } = lease
    const all = returning.has(field) ? null : unsettledWith(field, charged)
    if (all !== null) {
      unsettled.set(field, all)
      if (permits !== '') rates.push(one)
      continue
    }
    keys.push(accountKeys(shard, accountId, keyId))
    args.push(field, accountId, lease.keys)
    args.push(coinPartText(charged), grantsText(charged.grants), coinPartText(back), grantsText(back.grants), permits)
    if (hasBurst(permits)) owing.push(keyId)
  }
  args.unshift(sums.length - unsettled.size, rates.length)
  for (const { lease, permits } of rates) {
    keys.push(keyCountersKey(lease.shard, lease.keyId))
    args.push(permits)
    if (hasBurst(permits)) owing.push(lease.keyId)
  }
  for (const [field, all] of unsettled) {
    if (!isNothing(all)) args.push(chargesField(field), `${coinPartText(all)}|${grantsText(all.grants)}`)
  }
  return { keys, args, unsettled: new Set(unsettled.keys()), owing }
}

/** Whether permits are some that were used and not taken, after which Redis answers how many are left. */
function hasBurst(permits: string): boolean {
  return permits.startsWith('-')
}

function sumsOf(endings: readonly LeasedEnding[], given: readonly GivenBack[]): LeaseSums[] {
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
  return [...sums.values()]
}
