import { readCheckpoint } from './noteVerifier.ts'
import { referenceRoot } from './referenceTree.ts'

const TILE = 256
const HASH_BYTES = 32

/** Reads a file of a log. @throws where there is none */
export type FileReader = (path: string) => Promise<Buffer>

/**
 * Follows one log as C2SP's tlog-tiles has it, and keeps all leaves that it has ever seen, so that a log which takes one
 * back or shows another in its place does not fit any more.
 */
export class LogMonitor {
  private readonly read: FileReader
  private readonly key: string
  private leaves: Buffer[] = []

  /** @param key the verifier key of the log, whose name is its origin */
  constructor(read: FileReader, key: string) {
    this.read = read
    this.key = key
  }

  get size(): number {
    return this.leaves.length
  }

  /** Reads what is new, and checks it. @throws Error with what is wrong */
  async follow(): Promise<void> {
    const { origin, size, root } = readCheckpoint((await this.read('checkpoint')).toString('utf8'), this.key)
    if (!this.key.startsWith(`${origin}+`)) throw new Error(`the checkpoint is of ${origin}`)
    if (size < this.size) throw new Error(`the log was rewound from ${this.size} to ${size}`)
    const leaves = [...this.leaves]
    for (let tile = Math.floor(this.size / TILE); tile * TILE < size; tile++) {
      const hashes = await this.tile(0, tile, Math.min(TILE, size - tile * TILE))
      for (const [at, hash] of hashes.entries()) {
        const known = leaves[tile * TILE + at]
        if (known === undefined) leaves.push(hash)
        else if (!known.equals(hash)) throw new Error(`leaf ${tile * TILE + at} was changed`)
      }
    }
    if (!referenceRoot(leaves).equals(root)) throw new Error('the leaves do not have the root that was signed')
    await this.checkAbove(leaves)
    this.leaves = leaves
  }

  /** Every level of tiles has the roots of the full tiles below it. */
  private async checkAbove(leaves: readonly Buffer[]): Promise<void> {
    let below = leaves
    for (let level = 1; below.length >= TILE; level++) {
      const full = Math.floor(below.length / TILE)
      const roots = Array.from({ length: full }, (_, at) => referenceRoot(below.slice(at * TILE, (at + 1) * TILE)))
      for (let tile = 0; tile * TILE < full; tile++) {
        const hashes = await this.tile(level, tile, Math.min(TILE, full - tile * TILE))
        if (hashes.some((hash, at) => roots[tile * TILE + at]?.equals(hash) !== true)) {
          throw new Error(`tile ${tile} of level ${level} does not fit those below it`)
        }
      }
      below = roots
    }
  }

  private async tile(level: number, tile: number, width: number): Promise<Buffer[]> {
    const bytes = await this.read(`tile/${level}/${tilePath(tile)}${width === TILE ? '' : `.p/${width}`}`)
    if (bytes.length !== width * HASH_BYTES) throw new Error(`a tile of ${width} has ${bytes.length} bytes`)
    return Array.from({ length: width }, (_, at) => bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES))
  }
}

/** 1234067 is x001/x234/067. */
export function tilePath(tile: number): string {
  const groups: string[] = []
  for (let left = tile; groups.length === 0 || left > 0; left = Math.floor(left / 1000)) {
    groups.unshift(String(left % 1000).padStart(3, '0'))
  }
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
}
