import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { consistencyParts, type ProofPart, proofParts } from '../../../control/book/usagelog/merkle.ts'
import { isConsistent, leafHash, rootOf } from '../../../verifier/tree.ts'
import { referenceConsistency, referenceRoot } from '../../support/referenceTree.ts'
import { rounds } from '../../support/rounds.ts'

const LEAVES = Array.from({ length: 140 }, (_, at) => Buffer.from(leafHash(`entry ${at}\n`)))
const bytes = (hash: Buffer): Uint8Array<ArrayBuffer> => Uint8Array.from(hash)
const head = (size: number) => ({ size, root: bytes(referenceRoot(LEAVES.slice(0, size))) })

function hashOf(part: ProofPart): Uint8Array<ArrayBuffer> {
  const subtrees = part.kind === 'subtree' ? [part.subtree] : part.peaks
  const leaves = subtrees.flatMap(({ level, index }) => LEAVES.slice(index * 2 ** level, (index + 1) * 2 ** level))
  return bytes(referenceRoot(leaves))
}

/** The proof with one bit of one hash changed, or without its last hash, or with one too many. */
function broken(proof: readonly Uint8Array<ArrayBuffer>[], pick: number): Uint8Array<ArrayBuffer>[] {
  const copy = proof.map((hash) => hash.slice())
  if (pick % 3 === 0 || copy.length === 0) return [...copy, bytes(LEAVES[pick % LEAVES.length] ?? Buffer.alloc(32))]
  if (pick % 3 === 1) return copy.slice(0, -1)
  const hash = copy[pick % copy.length]
  if (hash !== undefined) hash[pick % hash.length] = (hash[pick % hash.length] ?? 0) ^ (1 << (pick % 8))
  return copy
}

const size = fc.integer({ min: 1, max: LEAVES.length })

test('every leaf is proved in every tree, only at its position and only with its whole proof', () => {
  fc.assert(
    fc.property(size, fc.nat(), fc.nat(), (count, at, pick) => {
      const position = at % count
      const { root } = head(count)
      const leaf = bytes(LEAVES[position] ?? Buffer.alloc(0))
      const proof = proofParts(position, count).map(hashOf)
      assert.deepEqual(rootOf(leaf, position, count, proof), root)
      assert.notDeepEqual(rootOf(leaf, position, count, broken(proof, pick)), root)
      const other = pick % (count + 3)
      if (other !== position) assert.notDeepEqual(rootOf(leaf, other, count, proof), root)
    }),
    { numRuns: rounds({ short: 120, long: 2_000 }) },
  )
})

test('every tree is proved to extend every smaller one, only with the proof for both', () => {
  fc.assert(
    fc.property(size, size, fc.nat(), (one, other, pick) => {
      const [first, second] = [Math.min(one, other), Math.max(one, other)]
      const proof = referenceConsistency(first, LEAVES.slice(0, second)).map(bytes)
      assert.deepEqual(proof, consistencyParts(first, second).map(hashOf))
      assert.ok(isConsistent(head(first), head(second), proof))
      assert.ok(!isConsistent(head(first), head(second), broken(proof, pick)))
      const forged = { size: first, root: leafHash('another') }
      assert.ok(!isConsistent(forged, head(second), proof))
      assert.ok(!isConsistent(head(first), { size: second, root: leafHash('another') }, proof))
      if (first !== second) assert.ok(!isConsistent(head(second), head(first), proof))
    }),
    { numRuns: rounds({ short: 120, long: 2_000 }) },
  )
  assert.ok(!isConsistent({ size: 0, root: leafHash('') }, head(3), []))
})
