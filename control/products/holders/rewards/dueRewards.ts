import type { Address } from '../../../../contract/payments/address.ts'
import { allocate, type Weight } from './allocate.ts'

/** The inputs for dividing the rewards of a period; amounts are integers of 1e-9 coin (nanos). */
export interface Sharing {
  readonly poolNanos: bigint
  readonly weights: readonly Weight[]
  /** Earnings of earlier periods that have not been paid. */
  readonly carried: ReadonlyMap<Address, bigint>
  readonly minNanos: bigint
}

/** The reward of a holder for a period. */
export interface DueReward {
  readonly address: Address
  readonly earnedNanos: bigint
  /** The amount due now; 0 while it is carried over. */
  readonly dueNanos: bigint
  readonly carriedNanos: bigint
}

/**
 * Computes what each holder earns, gets and carries over. A holder gets its whole total once that reaches the minimum, and
 * nothing before.
 * @returns the holders that earn or had carried something, by address
 */
export function dueRewards({ poolNanos, weights, carried, minNanos }: Sharing): DueReward[] {
  const earned = allocate(poolNanos, weights)
  const addresses = [...new Set([...earned.keys(), ...carried.keys()])].sort()
  return addresses.map((address) => {
    const earnedNanos = earned.get(address) ?? 0n
    const all = earnedNanos + (carried.get(address) ?? 0n)
    const isDue = all >= minNanos && all > 0n
    return { address, earnedNanos, dueNanos: isDue ? all : 0n, carriedNanos: isDue ? 0n : all }
  })
}

const NANO_DECIMALS = 9

/** Nanos of coin in the smallest units of its token. @param decimals of the token, at least 9 */
export function tokensOf(nanos: bigint, decimals: number): bigint {
  return nanos * 10n ** BigInt(decimals - NANO_DECIMALS)
}
