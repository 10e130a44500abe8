import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Frontier } from '../../../../../control/book/usagelog/frontier.ts'
import {
  consistencyParts,
  EMPTY_ROOT,
  leafHash,
  nodeHash,
  type ProofPart,
  proofParts,
  rootOf,
  verifyInclusion,
} from '../../../../../control/book/usagelog/merkle.ts'
import { isConsistent, referenceConsistency } from '../../../../support/referenceTree.ts'

const leaves = Array.from({ length: 5_000 }, (_, i) => leafHash(`leaf ${i}`))

/** MTH of RFC 6962, section 2.1, word by word. */
function naiveRoot(from: number, until: number): Buffer {
  const size = until - from
  if (size === 0) return hash('sha256', '', 'buffer')
  if (size === 1) return leaves[from] as Buffer
  const k = largestPowerBelow(size)
  return nodeHash(naiveRoot(from, from + k), naiveRoot(from + k, until))
}

/** PATH of RFC 6962, section 2.1.1, word by word. */
function naivePath(position: number, from: number, until: number): Buffer[] {
  const size = until - from
  if (size === 1) return []
  const k = largestPowerBelow(size)
  return position < k
    ? [...naivePath(position, from, from + k), naiveRoot(from + k, until)]
    : [...naivePath(position - k, from + k, until), naiveRoot(from, from + k)]
}

function largestPowerBelow(size: number): number {
  let k = 1
  while (k * 2 < size) k *= 2
  return k
}

const path = (position: number, size: number): Buffer[] => resolved(proofParts(position, size))

function resolved(parts: readonly ProofPart[]): Buffer[] {
  const subtreeRoot = (level: number, index: number) => naiveRoot(index * 2 ** level, (index + 1) * 2 ** level)
  return parts.map((part) =>
    part.kind === 'subtree'
      ? subtreeRoot(part.subtree.level, part.subtree.index)
      : rootOf(part.peaks.map((peak) => subtreeRoot(peak.level, peak.index))),
  )
}

function frontierOf(size: number): Frontier {
  const frontier = new Frontier(0, Buffer.alloc(0))
  for (let i = 0; i < size; i++) frontier.append(leaves[i] as Buffer)
  return frontier
}

test('the empty tree and the first leaves have the hashes of RFC 6962', () => {
  assert.equal(EMPTY_ROOT.toString('hex'), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  // Vectors of the Certificate Transparency reference implementation.
  assert.equal(leafHash('').toString('hex'), '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
})

test('roots and proofs equal the naive tree for every size up to 130', () => {
  for (let size = 1; size <= 130; size++) {
    const root = naiveRoot(0, size)
    assert.deepEqual(frontierOf(size).root(), root)
    for (let position = 0; position < size; position++) {
      const proof = path(position, size)
      assert.deepEqual(proof, naivePath(position, 0, size))
      assert.ok(verifyInclusion(leaves[position] as Buffer, position, size, proof, root))
    }
  }
})

test('roots and proofs equal the naive tree for random larger sizes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 131, max: leaves.length }), fc.nat(), (size, pick) => {
      const position = pick % size
      const root = naiveRoot(0, size)
      const proof = path(position, size)
      assert.deepEqual(frontierOf(size).root(), root)
      assert.deepEqual(proof, naivePath(position, 0, size))
      assert.ok(verifyInclusion(leaves[position] as Buffer, position, size, proof, root))
    }),
    { numRuns: 25 },
  )
})

test('a proof fails for another leaf, position, size, root, or with any hash changed, added or left out', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 300 }), fc.nat(), fc.nat(), (size, pick, other) => {
      const position = pick % size
      const leaf = leaves[position] as Buffer
      const root = naiveRoot(0, size)
      const proof = path(position, size)
      const wrong = leaves[4_999] as Buffer
      const changed = proof.map((part, i) => (i === other % proof.length ? wrong : part))
      assert.ok(!verifyInclusion(wrong, position, size, proof, root))
      assert.ok(!verifyInclusion(leaf, (position + 1) % size, size, proof, root))
      assert.ok(!verifyInclusion(leaf, position, size, changed, root))
      assert.ok(!verifyInclusion(leaf, position, size, proof.slice(1), root))
      assert.ok(!verifyInclusion(leaf, position, size, [...proof, wrong], root))
      assert.ok(!verifyInclusion(leaf, position, size, proof, wrong))
      assert.ok(!verifyInclusion(leaf, size, size, proof, root))
      assert.ok(!verifyInclusion(leaf, -1, size, proof, root))
    }),
    { numRuns: 100 },
  )
})

test('a frontier survives being stored and read back, and names the subtrees that it completes', () => {
  let frontier = new Frontier(0, Buffer.alloc(0))
  const completed: string[] = []
  for (let i = 0; i < 1_000; i++) {
    for (const node of frontier.append(leaves[i] as Buffer)) {
      completed.push(`${node.level}/${node.index}`)
      const width = 2 ** node.level
      assert.deepEqual(node.hash, naiveRoot(node.index * width, (node.index + 1) * width))
    }
    if (i % 37 === 0) frontier = new Frontier(frontier.size, frontier.peaks())
  }
  const small = completed.filter((place) => place.startsWith('4/'))
  assert.deepEqual(
    small,
    Array.from({ length: 62 }, (_, at) => `4/${at}`),
  )
  assert.deepEqual(
    completed.filter((place) => !place.startsWith('4/')),
    ['8/0', '8/1', '8/2'],
  )
  assert.throws(() => new Frontier(3, Buffer.alloc(32)), /2 peaks/)
})

test('consistency proofs match RFC 6962, and prove no other pair of roots', () => {
  const sizes = fc.tuple(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 600 }))
  fc.assert(
    fc.property(sizes, fc.nat(), ([one, other], pick) => {
      const [first, second] = [Math.min(one, other), Math.max(one, other)]
      const proof = resolved(consistencyParts(first, second))
      assert.deepEqual(proof, referenceConsistency(first, leaves.slice(0, second)))
      const head = (size: number) => ({ size, root: naiveRoot(0, size) })
      assert.ok(isConsistent(head(first), head(second), proof))
      const forged = { size: first, root: leafHash('another') }
      assert.ok(!isConsistent(forged, head(second), proof))
      if (proof.length === 0) return
      const changed = proof.map((hash, place) => (place === pick % proof.length ? leafHash('another') : hash))
      assert.ok(!isConsistent(head(first), head(second), changed))
    }),
    { numRuns: 200 },
  )
  for (const [first, second] of [
    [0, 5],
    [6, 5],
    [-1, 5],
  ] as const) {
    assert.throws(() => consistencyParts(first, second), RangeError)
  }
})
