import { setImmediate as nextTurn } from 'node:timers/promises'
import { concat, encodeAbiParameters, type Hex, keccak256 } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'

/** A leaf: the total that an account may claim, in the smallest units of the coin. */
export interface RewardLeaf {
  readonly account: Address
  readonly amount: bigint
}

/** A tree over leaves, as OpenZeppelin's StandardMerkleTree builds it: the root first, the leaves last. */
export interface RewardTree {
  readonly nodes: readonly Hex[]
  /** By account, where its leaf is among the nodes. */
  readonly places: ReadonlyMap<Address, number>
}

const LEAF = [{ type: 'address' }, { type: 'uint256' }] as const

/** The hash of a leaf; hashed twice, so that no node of the tree can pass for one. */
export function leafHash({ account, amount }: RewardLeaf): Hex {
  return keccak256(keccak256(encodeAbiParameters(LEAF, [account, amount])))
}

/**
 * Builds the tree of a period.
 * @param leaves one per account, not empty
 * @param leavesPerTurn hashes computed before yielding to the event loop
 * @see https://github.com/OpenZeppelin/merkle-tree
 */
export async function rewardTree(leaves: readonly RewardLeaf[], leavesPerTurn: number): Promise<RewardTree> {
  let hashed = 0
  const turn = async (): Promise<void> => {
    if (++hashed % leavesPerTurn === 0) await nextTurn()
  }
  const hashes: Array<{ account: Address; hash: Hex }> = []
  for (const leaf of leaves) {
    hashes.push({ account: leaf.account, hash: leafHash(leaf) })
    await turn()
  }
  hashes.sort((a, b) => (a.hash < b.hash ? -1 : 1))
  const nodes = new Array<Hex>(2 * hashes.length - 1).fill('0x')
  const places = new Map<Address, number>()
  hashes.forEach(({ account, hash }, at) => {
    const place = nodes.length - 1 - at
    nodes[place] = hash
    places.set(account, place)
  })
  for (let at = nodes.length - 1 - hashes.length; at >= 0; at--) {
    nodes[at] = pairHash(nodes[2 * at + 1] ?? '0x', nodes[2 * at + 2] ?? '0x')
    await turn()
  }
  return { nodes, places }
}

/** The places of the nodes that prove the one at a place, from the leaf up. */
export function proofPlaces(place: number): number[] {
  const places: number[] = []
  for (let at = place; at > 0; at = Math.floor((at - 1) / 2)) places.push(at % 2 === 1 ? at + 1 : at - 1)
  return places
}

/** The root that a leaf and its proof lead to. */
export function provenRoot(leaf: RewardLeaf, proof: readonly Hex[]): Hex {
  return proof.reduce<Hex>(pairHash, leafHash(leaf))
}

function pairHash(a: Hex, b: Hex): Hex {
  return keccak256(a < b ? concat([a, b]) : concat([b, a]))
}
