// Goal: a leaf is proven by its place and its amount alone, and no change of either, nor of a neighbour, passes. Method: the
// tree is built by tiles and by its definition, and proofs are checked by the verifier, which shares no code with it.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import {
  EMPTY_NODE,
  heightOf,
  neighbours,
  type SumNode,
  sumLeaf,
} from '../../../../../control/products/reserve/sumTree.ts'
import { TILE_NODES, TreeBuilder, type TreeTop } from '../../../../../control/products/reserve/treeBuilder.ts'
import { checkLeaf, checkPath, type Liability } from '../../../../../verifier/liability.ts'

const sha256 = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
const bytes16 = (sum: bigint) => Buffer.from(sum.toString(16).padStart(32, '0'), 'hex')
const saltOf = (at: number) => Buffer.from(String(at).padStart(32, '0'))

function built(amounts: readonly bigint[]): { top: TreeTop; leaves: SumNode[] } {
  const builder = new TreeBuilder()
  const leaves = amounts.map((amount, at) => sumLeaf(saltOf(at), `coin:acct_${at}`, amount))
  for (const [at, leaf] of leaves.entries()) builder.add(leaf, saltOf(at))
  return { top: builder.finish(), leaves }
}

/** By the definition: the lower half of the places on the left, an empty half is the empty node. */
function defined(leaves: readonly SumNode[], height: number): SumNode {
  const [first] = leaves
  if (first === undefined) return EMPTY_NODE
  if (height === 0) return first
  const half = 2 ** (height - 1)
  const [left, right] = [defined(leaves.slice(0, half), height - 1), defined(leaves.slice(half), height - 1)]
  const hash = sha256(Buffer.of(1), left.hash, bytes16(left.sum), right.hash, bytes16(right.sum))
  return { hash, sum: left.sum + right.sum }
}

const bytesOf = (hash: Buffer) => Uint8Array.from(hash)
const nodeOf = ({ hash, sum }: SumNode) => ({ hash: bytesOf(hash), sum })

function proofOf(leaves: readonly SumNode[], at: number): Liability {
  const leaf = leaves[at]
  assert.ok(leaf)
  const path = neighbours(leaves, at, heightOf(leaves.length)).map(nodeOf)
  return { account: `coin:acct_${at}`, salt: bytesOf(saltOf(at)), position: at, leaf: nodeOf(leaf), path }
}

const headOf = ({ leaves, height, hash, sum }: TreeTop) => ({ leaves, height, root: bytesOf(hash), sum })

test('the root matches the definition for any number of leaves', () => {
  for (const count of [0, 1, 2, 3, 5, 255, 256, 257, 511, 512, 513, 700]) {
    const amounts = Array.from({ length: count }, (_, at) => BigInt(at) * 1_000_000_007n)
    const { top, leaves } = built(amounts)
    const expected = defined(leaves, heightOf(count))
    assert.deepEqual(
      [top.hash.toString('hex'), top.sum],
      [expected.hash.toString('hex'), expected.sum],
      `${count} leaves`,
    )
    assert.equal(
      top.sum,
      amounts.reduce((sum, amount) => sum + amount, 0n),
    )
    assert.equal(top.leaves, count)
  }
})

test('tiles hold every node of their levels once', () => {
  const count = TILE_NODES ** 2 + 3
  const builder = new TreeBuilder()
  const leaf = sumLeaf(saltOf(0), 'coin:a', 1n)
  const tiles = []
  for (let at = 0; at < count; at++) {
    builder.add(leaf, saltOf(at))
    tiles.push(...builder.takeTiles())
  }
  assert.equal(builder.finish().sum, BigInt(count))
  tiles.push(...builder.takeTiles())
  const sizes = new Map<number, number>()
  for (const { level, nodes } of tiles) sizes.set(level, (sizes.get(level) ?? 0) + nodes.length)
  assert.deepEqual([...sizes.entries()].sort(), [
    [0, count],
    [1, TILE_NODES + 1],
    [2, 2],
  ])
  assert.equal(new Set(tiles.map(({ level, place }) => `${level}/${place}`)).size, tiles.length)
})

test('the verifier accepts every leaf unchanged, and no changed one', () => {
  const amount = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n })
  fc.assert(
    fc.property(fc.array(amount, { minLength: 1, maxLength: 40 }), fc.nat(), fc.nat(), (amounts, choice, change) => {
      const { top, leaves } = built(amounts)
      const at = choice % amounts.length
      const [proof, head] = [proofOf(leaves, at), headOf(top)]
      checkLeaf(proof)
      checkPath(proof, head)
      const other = { ...proof, leaf: { ...proof.leaf, sum: proof.leaf.sum + 1n } }
      assert.throws(() => checkLeaf(other))
      assert.throws(() => checkPath(other, head))
      assert.throws(() => checkLeaf({ ...proof, account: 'coin:acct_other' }))
      assert.throws(() => checkPath({ ...proof, position: amounts.length }, head))
      assert.throws(() => checkPath(proof, { ...head, sum: head.sum - 1n }))
      assert.throws(() => checkPath({ ...proof, path: [...proof.path, nodeOf(EMPTY_NODE)] }, head))
      if (proof.path.length === 0) return
      const place = change % proof.path.length
      const path = proof.path.map((node, level) => {
        if (level !== place) return node
        const hash = node.hash.slice()
        hash[change % 32] = (hash[change % 32] ?? 0) ^ 1
        return change % 2 === 0 ? { ...node, hash } : { ...node, sum: node.sum + 1n }
      })
      assert.throws(() => checkPath({ ...proof, path }, head))
    }),
  )
})

test('a negative amount cannot be hidden: both sides reject it', () => {
  assert.throws(() => sumLeaf(saltOf(0), 'coin:a', -1n), RangeError)
  const { top, leaves } = built([5n, 7n])
  const proof = proofOf(leaves, 0)
  const path = proof.path.map((node) => ({ ...node, sum: -7n }))
  assert.throws(() => checkPath({ ...proof, path }, headOf(top)), /no amount of the tree/)
})
