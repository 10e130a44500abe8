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
