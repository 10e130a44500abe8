import type { Address } from '../../../../contract/payments/address.ts'

/** A holder's weight in a period: the smallest units of the token times the seconds that it held them. */
export interface Weight {
  readonly address: Address
  readonly weight: bigint
}

/**
 * Divides an amount in proportion to weights, to the last nano (largest remainder method): each part is rounded down, then the
 * rest is given out one nano each, to the largest remainders first; the lower address wins a tie.
 * @param nanos not negative
 * @param weights positive, one an address
 * @returns the parts that are not zero, by address; empty without weights
 */
export function allocate(nanos: bigint, weights: readonly Weight[]): Map<Address, bigint> {
  const total = weights.reduce((sum, { weight }) => sum + weight, 0n)
  const shares = new Map<Address, bigint>()
  if (total === 0n || nanos === 0n) return shares
  let left = nanos
  const remainders: Weight[] = []
  for (const { address, weight } of weights) {
    const product = nanos * weight
    const share = product / total
    if (share > 0n) shares.set(address, share)
    left -= share
    remainders.push({ address, weight: product % total })
  }
  remainders.sort(byWeightThenAddress)
  for (const { address } of remainders.slice(0, Number(left))) shares.set(address, (shares.get(address) ?? 0n) + 1n)
  return shares
}

function byWeightThenAddress(a: Weight, b: Weight): number {
  if (a.weight !== b.weight) return a.weight > b.weight ? -1 : 1
  return a.address < b.address ? -1 : 1
}
