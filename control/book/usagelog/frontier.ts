import { HASH_BYTES, nodeHash, peaksOf, rootOf } from './merkle.ts'
import { STORED_LEVELS, splitHashes } from './tile.ts'

/** The root of a complete subtree whose height is one of STORED_LEVELS. */
export interface StoredNode {
  readonly level: number
  readonly index: number
  readonly hash: Buffer
}

/** The right edge of a growing tree: all that appending and the root need. */
export class Frontier {
  size: number
  private nodes: { level: number; hash: Buffer }[]

  /**
   * @param size leaves in the tree
   * @param peaks hashes of its complete subtrees, largest first, one after the other
   * @throws Error when there are not as many hashes as a tree of this size has
   */
  constructor(size: number, peaks: Buffer) {
    const subtrees = peaksOf(size)
    if (peaks.length !== subtrees.length * HASH_BYTES) {
      throw new Error(`a log of ${size} has ${subtrees.length} peaks, not ${peaks.length / HASH_BYTES}`)
    }
    this.size = size
    const hashes = splitHashes(peaks)
    this.nodes = subtrees.map(({ level }, i) => ({ level, hash: hashes[i] as Buffer }))
  }

  /** Appends one leaf. @returns the stored nodes that it completed */
  append(leaf: Buffer): StoredNode[] {
    let node = { level: 0, hash: leaf }
    const completed: StoredNode[] = []
    this.size++
    for (let left = this.nodes.at(-1); left?.level === node.level; left = this.nodes.at(-1)) {
      this.nodes.pop()
      node = { level: node.level + 1, hash: nodeHash(left.hash, node.hash) }
      if (STORED_LEVELS.includes(node.level)) {
        completed.push({ level: node.level, index: this.size / 2 ** node.level - 1, hash: node.hash })
      }
    }
    this.nodes.push(node)
    return completed
  }

  /** The peaks as the constructor takes them. */
  peaks(): Buffer {
    return Buffer.concat(this.nodes.map((peak) => peak.hash))
  }

  root(): Buffer {
    return rootOf(this.nodes.map((peak) => peak.hash))
  }
}
