import { type Bytes, concat, isSame, utf8 } from './bytes.ts'
import { sha256 } from './sha256.ts'

// Merkle trees with the hashes of RFC 6962, section 2.1; the checks are those of RFC 9162, sections 2.1.3.2 and 2.1.4.2.

export const HASH_BYTES = 32
const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

/** The claimed size and root of a tree. */
export interface TreeHead {
  readonly size: number
  readonly root: Bytes
}

/** SHA-256 of a zero byte and the entry. */
export function leafHash(entry: string): Bytes {
  return sha256(concat(LEAF, utf8(entry)))
}

function nodeHash(left: Bytes, right: Bytes): Bytes {
  return sha256(concat(NODE, left, right))
}

const half = (place: number): number => Math.floor(place / 2)

/**
 * The root that a proof leads to.
 * @param proof hashes from the leaf upwards
 * @returns undefined where the place is not in a tree of this size, or the proof has not the length that it must have
 */
export function rootOf(leaf: Bytes, position: number, size: number, proof: readonly Bytes[]): Bytes | undefined {
  if (position >= size) return undefined
  let [hash, place, last] = [leaf, position, size - 1]
  for (const sibling of proof) {
    if (last === 0) return undefined
    if (place % 2 === 1 || place === last) {
      hash = nodeHash(sibling, hash)
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)]
    } else {
      hash = nodeHash(hash, sibling)
    }
    ;[place, last] = [half(place), half(last)]
  }
  return last === 0 ? hash : undefined
}

/** Whether a proof shows that the second tree begins with the first one, which has a leaf at least. */
export function isConsistent(first: TreeHead, second: TreeHead, proof: readonly Bytes[]): boolean {
  if (first.size < 1 || first.size > second.size) return false
  if (first.size === second.size) return proof.length === 0 && isSame(first.root, second.root)
  let [place, last] = [first.size - 1, second.size - 1]
  while (place % 2 === 1) [place, last] = [half(place), half(last)]
  // A first tree that is a subtree of the second is not repeated in the proof.
  const [seed, ...rest] = place === 0 ? [first.root, ...proof] : proof
  if (seed === undefined) return false
  let [before, after] = [seed, seed]
  for (const hash of rest) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      ;[before, after] = [nodeHash(hash, before), nodeHash(hash, after)]
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)]
    } else {
      after = nodeHash(after, hash)
    }
    ;[place, last] = [half(place), half(last)]
  }
  return last === 0 && isSame(before, first.root) && isSame(after, second.root)
}
