// Goal: claims are proved by the trees that OpenZeppelin's StandardMerkleTree builds, so that its contracts and tools take them.
// Method: roots and proofs that @openzeppelin/merkle-tree 1.0.8 has made of the same leaves, and proofs of random trees.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Hex } from 'viem'
import type { Address } from '../../../../../../contract/payments/address.ts'
import {
  proofPlaces,
  provenRoot,
  type RewardLeaf,
  type RewardTree,
  rewardTree,
} from '../../../../../../control/products/holders/rewards/rewardTree.ts'
import { STANDARD_TREES } from '../../../../../support/samples/standardMerkleTrees.ts'

const PER_TURN = 7

const leafOf = (at: number): RewardLeaf => ({
  account: `0x${(at * 7919 + 1).toString(16).padStart(40, '0')}` as Address,
  amount: (BigInt(at) + 1n) ** 40n,
})

const leavesOf = (count: number): RewardLeaf[] => Array.from({ length: count }, (_, at) => leafOf(at))

const proofOf = ({ nodes, places }: RewardTree, account: Address): Hex[] =>
  proofPlaces(places.get(account) ?? -1).map((place) => nodes[place] ?? '0x')

test('roots and proofs equal those of StandardMerkleTree', async () => {
  for (const { leaves: count, root, proofOfLast: proof } of STANDARD_TREES) {
    const tree = await rewardTree(leavesOf(count), PER_TURN)
    const last = leafOf(count - 1)
    assert.equal(tree.nodes[0], root, `${count} leaves`)
    assert.deepEqual(proofOf(tree, last.account), proof, `${count} leaves`)
    assert.equal(tree.nodes.length, 2 * count - 1)
  }
})

test('every leaf is proved, but not with another amount or account', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.nat(), async (count, pick) => {
      const tree = await rewardTree(leavesOf(count), PER_TURN)
      const leaf = leafOf(pick % count)
      const proof = proofOf(tree, leaf.account)
      assert.equal(provenRoot(leaf, proof), tree.nodes[0])
      assert.notEqual(provenRoot({ ...leaf, amount: leaf.amount + 1n }, proof), tree.nodes[0])
      assert.notEqual(provenRoot({ ...leaf, account: leafOf(count).account }, proof), tree.nodes[0])
    }),
    { numRuns: 50 },
  )
})
