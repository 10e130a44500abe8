import type { Address } from '../../../contract/payments/address.ts'
import { allocate, type Weight } from './allocate.ts'

/** What a period is shared out by; amounts are integers of 1e-9 coin (nanos). */
export interface Sharing {
  readonly poolNanos: bigint
  readonly weights: readonly Weight[]
  /** What holders had earned before and was not paid. */
  readonly carried: ReadonlyMap<Address, bigint>
  readonly minNanos: bigint
}

/** What a period has for a holder. */
export interface DueReward {
  readonly address: Address
  readonly earnedNanos: bigint
  /** All that it has to get now; 0 where it is carried. */
  readonly dueNanos: bigint
  readonly carriedNanos: bigint
}

/**
 * What each holder earns, gets and carries: all that it has once that comes to the minimum, and else nothing.
 * @returns those that earn or had carried something, by address
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
