import { createHash } from 'node:crypto'

const sha256 = (...parts: readonly Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest()

/** HASH of a node, as RFC 6962 has it in section 2.1. */
const nodeOf = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right)

/** MTH of RFC 6962, section 2.1, word by word, over leaf hashes. */
export function referenceRoot(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves
  if (first === undefined) return sha256()
  if (leaves.length === 1) return first
  const k = largestPowerBelow(leaves.length)
  return nodeOf(referenceRoot(leaves.slice(0, k)), referenceRoot(leaves.slice(k)))
}

function largestPowerBelow(size: number): number {
  let k = 1
  while (k * 2 < size) k *= 2
  return k
}

/** PROOF of RFC 6962, section 2.1.2, word by word, over leaf hashes. */
export function referenceConsistency(first: number, leaves: readonly Buffer[]): Buffer[] {
  const subproof = (m: number, part: readonly Buffer[], isWhole: boolean): Buffer[] => {
    if (m === part.length) return isWhole ? [] : [referenceRoot(part)]
    const k = largestPowerBelow(part.length)
    return m <= k
      ? [...subproof(m, part.slice(0, k), isWhole), referenceRoot(part.slice(k))]
      : [...subproof(m - k, part.slice(k), false), referenceRoot(part.slice(0, k))]
  }
  return subproof(first, leaves, true)
}

/** A tree as a log says that it is. */
export interface TreeHead {
  readonly size: number
  readonly root: Buffer
}

/** Whether a proof shows that the second tree begins with the first one, as RFC 9162 checks it in section 2.1.4.2. */
export function isConsistent(first: TreeHead, second: TreeHead, proof: readonly Buffer[]): boolean {
  if (first.size < 1 || first.size > second.size) return false
  if (first.size === second.size) return proof.length === 0 && first.root.equals(second.root)
  const isPower = Number.isInteger(Math.log2(first.size))
  const [seed, ...rest] = isPower ? [first.root, ...proof] : proof
  if (seed === undefined) return false
  let [place, last] = [first.size - 1, second.size - 1]
  while (place % 2 === 1) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)]
  let [before, after] = [seed, seed]
  for (const hash of rest) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      before = nodeOf(hash, before)
      after = nodeOf(hash, after)
      while (place % 2 === 0 && place !== 0) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)]
    } else after = nodeOf(after, hash)
    ;[place, last] = [Math.floor(place / 2), Math.floor(last / 2)]
  }
  return last === 0 && before.equals(first.root) && after.equals(second.root)
}
