import type { RpcLog } from 'viem'
import type { Address } from '../../contract/payments/address.ts'

/** A transfer from or to the treasury, as a log of the chain shows it. */
export interface Seen {
  readonly hash: string
  readonly logIndex: number
  readonly block: number
  readonly token: Address
  readonly from: Address
  readonly to: Address
  /** Atomic units, above 0. */
  readonly amount: bigint
}

/** Equal transfers of a transaction, in the order of their logs. */
export function groupsOf(transfers: readonly Seen[]): ReadonlyMap<string, Seen[]> {
  const groups = new Map<string, Seen[]>()
  for (const seen of transfers) {
    const key = [seen.hash, seen.token, seen.from, seen.to, seen.amount].join(':')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [seen])
    else group.push(seen)
  }
  return groups
}

/** The transfer of a log; none when it moves nothing, or is in no block yet. */
export function seenOf(log: RpcLog): Seen[] {
  const [, from, to] = log.topics
  if (log.transactionHash === null || log.logIndex === null || log.blockNumber === null) return []
  if (from === undefined || to === undefined || log.data === '0x' || BigInt(log.data) === 0n) return []
  return [
    {
      hash: log.transactionHash,
      logIndex: Number(log.logIndex),
      block: Number(log.blockNumber),
      token: log.address.toLowerCase() as Address,
      from: `0x${from.slice(26)}`.toLowerCase() as Address,
      to: `0x${to.slice(26)}`.toLowerCase() as Address,
      amount: BigInt(log.data),
    },
  ]
}
