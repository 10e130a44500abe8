import { hash } from 'node:crypto'

// Merkle trees as in RFC 6962, section 2.1: https://www.rfc-editor.org/rfc/rfc6962#section-2.1

export const HASH_BYTES = 32
const LEAF_PREFIX = '\u0000'
/** The hash input of an inner node: the prefix, and space for both hashes below it. */
const nodeInput = Buffer.alloc(1 + HASH_BYTES * 2, 0x01)

/** Root of the tree without leaves: the hash of nothing. */
export const EMPTY_ROOT: Buffer = hash('sha256', '', 'buffer')

/** Hash of a leaf: SHA-256(0x00 || text as UTF-8). */
export function leafHash(text: string): Buffer {
  return digest(`${LEAF_PREFIX}${text}`)
}

/** Hash of an inner node: SHA-256(0x01 || left || right). */
export function nodeHash(left: Buffer, right: Buffer): Buffer {
  nodeInput.set(left, 1)
  nodeInput.set(right, 1 + HASH_BYTES)
  return digest(nodeInput)
}

/** Takes a third of the time that a digest as a buffer does, which has its own memory. */
function digest(input: string | Buffer): Buffer {
  return Buffer.from(hash('sha256', input, 'binary'), 'latin1')
}

/** A complete subtree: its height and its place among the subtrees of that height. */
export interface Subtree {
  readonly level: number
  readonly index: number
}

/** The complete subtrees that a tree of `size` leaves is made of, largest first. */
export function peaksOf(size: number): Subtree[] {
  const peaks: Subtree[] = []
  let start = 0
  for (let level = 52; level >= 0; level--) {
    const width = 2 ** level
    if (size - start < width) continue
    peaks.push({ level, index: start / width })
    start += width
  }
  return peaks
}

/** The root of a tree out of the hashes of its peaks, largest first. */
export function rootOf(peaks: readonly Buffer[]): Buffer {
  let root: Buffer | undefined
  for (let i = peaks.length - 1; i >= 0; i--) {
    const peak = peaks[i] as Buffer
    root = root === undefined ? peak : nodeHash(peak, root)
  }
  return root ?? EMPTY_ROOT
}

/** One step of a proof: the hash to combine with is a complete subtree, or the root of the ragged right end. */
export type ProofPart =
  | { readonly kind: 'subtree'; readonly subtree: Subtree }
  | { readonly kind: 'rest'; readonly peaks: Subtree[] }

/**
 * Names the hashes that prove the leaf at `position` in a tree of `size` leaves, from the leaf upwards
 * (PATH of RFC 6962, section 2.1.1).
 */
export function proofParts(position: number, size: number): ProofPart[] {
  if (!(position >= 0 && position < size)) throw new RangeError(`position ${position} is not in a log of ${size}`)
  const peaks = peaksOf(size)
  const own = peaks.findIndex(({ level, index }) => Math.floor(position / 2 ** level) === index)
  const parts: ProofPart[] = []
  for (let level = 0, index = position; level < (peaks[own]?.level ?? 0); level++, index = Math.floor(index / 2)) {
    parts.push({ kind: 'subtree', subtree: { level, index: index % 2 === 0 ? index + 1 : index - 1 } })
  }
  if (own < peaks.length - 1) parts.push({ kind: 'rest', peaks: peaks.slice(own + 1) })
  for (let i = own - 1; i >= 0; i--) parts.push({ kind: 'subtree', subtree: peaks[i] as Subtree })
  return parts
}

/**
 * Names the hashes that prove that a tree of `second` leaves begins with the one of `first` leaves
 * (PROOF of RFC 6962, section 2.1.2).
 */
export function consistencyParts(first: number, second: number): ProofPart[] {
  if (!(first > 0 && first <= second)) throw new RangeError(`a log of ${second} was never one of ${first}`)
  return subproof(first, 0, second, true)
}

/** SUBPROOF for the leaves from `start` until `end`, of which `count` are in the first tree. */
function subproof(count: number, start: number, end: number, isWhole: boolean): ProofPart[] {
  if (count === end - start) return isWhole ? [] : [rangePart(start, end)]
  let width = 1
  while (width * 2 < end - start) width *= 2
  const middle = start + width
  return count <= width
    ? [...subproof(count, start, middle, isWhole), rangePart(middle, end)]
    : [...subproof(count - width, middle, end, false), rangePart(start, middle)]
}

/** The root over leaves that begin at a multiple of the largest subtree in them, as all parts of proofs do. */
function rangePart(start: number, end: number): ProofPart {
  return {
    kind: 'rest',
    peaks: peaksOf(end - start).map(({ level, index }) => ({ level, index: index + start / 2 ** level })),
  }
}

/**
 * Checks that a leaf is in the log (RFC 9162, section 2.1.3.2; the hashes are those of RFC 6962).
 * @param proof hashes from the leaf upwards
 * @returns false for anything that does not lead to `root`, also for positions out of range
 */
export function verifyInclusion(leaf: Buffer, position: number, size: number, proof: Buffer[], root: Buffer): boolean {
  if (!Number.isSafeInteger(position) || !Number.isSafeInteger(size) || position < 0 || position >= size) return false
  let node = leaf
  let place = position
  let last = size - 1
  for (const sibling of proof) {
    if (last === 0 || sibling.length !== HASH_BYTES) return false
    if (place % 2 === 1 || place === last) {
      node = nodeHash(sibling, node)
      while (place % 2 === 0 && place !== 0) {
        place = Math.floor(place / 2)
        last = Math.floor(last / 2)
      }
    } else {
      node = nodeHash(node, sibling)
    }
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && node.equals(root)
}
