import { hash } from 'node:crypto'

// A Merkle sum tree (docs/reference/reserve.md): each node has a hash and the sum of the amounts below it.

export const HASH_BYTES = 32
/** Sums are unsigned integers of 16 bytes, the most significant first. */
export const SUM_BYTES = 16
export const NODE_BYTES = HASH_BYTES + SUM_BYTES

const LEAF = Buffer.of(0)
const NODE = Buffer.of(1)
const HIGH = 64n

export interface SumNode {
  readonly hash: Buffer
  readonly sum: bigint
}

/** Takes the place of a missing right neighbour. */
export const EMPTY_NODE: SumNode = { hash: Buffer.alloc(HASH_BYTES), sum: 0n }

/** SHA-256. */
function sha256(...parts: readonly Buffer[]): Buffer {
  return hash('sha256', Buffer.concat(parts), 'buffer')
}

/** @throws RangeError for a sum that is negative or has not its place in the bytes */
export function sumBytes(sum: bigint): Buffer {
  const bytes = Buffer.alloc(SUM_BYTES)
  bytes.writeBigUInt64BE(sum >> HIGH, 0)
  bytes.writeBigUInt64BE(BigInt.asUintN(64, sum), 8)
  return bytes
}

/** @param offset of the sum in the bytes */
export function sumAt(bytes: Buffer, offset: number): bigint {
  return (bytes.readBigUInt64BE(offset) << HIGH) | bytes.readBigUInt64BE(offset + 8)
}

/**
 * The leaf of a ledger account.
 * @param amount nanos of coin, not negative
 */
export function sumLeaf(salt: Buffer, account: string, amount: bigint): SumNode {
  return { hash: sha256(LEAF, salt, sha256(Buffer.from(account, 'utf8')), sumBytes(amount)), sum: amount }
}

/** The node above two; nothing above two empty ones is empty too. */
function sumParent(left: SumNode, right: SumNode): SumNode {
  if (left === EMPTY_NODE && right === EMPTY_NODE) return EMPTY_NODE
  const joined = sha256(NODE, left.hash, sumBytes(left.sum), right.hash, sumBytes(right.sum))
  return { hash: joined, sum: left.sum + right.sum }
}

/** Levels above the leaves of a tree. */
export function heightOf(leaves: number): number {
  let height = 0
  while (2 ** height < leaves) height++
  return height
}

/** The level above: pairs from the left, an odd last node with an empty one. */
function levelAbove(nodes: readonly SumNode[]): SumNode[] {
  const above: SumNode[] = []
  for (let at = 0; at < nodes.length; at += 2) {
    above.push(sumParent(nodes[at] ?? EMPTY_NODE, nodes[at + 1] ?? EMPTY_NODE))
  }
  return above
}

/** The node that joins some nodes, a number of levels above them. */
export function topOf(nodes: readonly SumNode[], levels: number): SumNode {
  let level = nodes
  for (let height = 0; height < levels; height++) level = levelAbove(level)
  return level[0] ?? EMPTY_NODE
}

/** The neighbours of a node and of those above it, for a number of levels. */
export function neighbours(nodes: readonly SumNode[], place: number, levels: number): SumNode[] {
  const path: SumNode[] = []
  let [level, at] = [nodes, place]
  for (let height = 0; height < levels; height++) {
    path.push(level[at % 2 === 0 ? at + 1 : at - 1] ?? EMPTY_NODE)
    level = levelAbove(level)
    at = Math.floor(at / 2)
  }
  return path
}
