import type { Queryable } from '../../runtime/db/pool.ts'
import { readHead } from './head.ts'
import { type LeafReader, leavesOf } from './leafReads.ts'
import { consistencyParts, type ProofPart, peaksOf, proofParts, rootOf, type Subtree } from './merkle.ts'
import { NodeRanges } from './nodeRanges.ts'
import { foldComplete, STORED_LEVELS, TILE, TILE_LEVELS } from './tile.ts'

const TOP_LEVEL = Math.max(...STORED_LEVELS)

/** Proof that a receipt is in a usage log; hashes in hex. Checked by verifyInclusion. */
export interface InclusionProof {
  readonly position: number
  readonly tree_size: number
  readonly root: string
  readonly leaf: string
  /** From the leaf upwards. */
  readonly proof: string[]
}

/** Reads tiles of up to 256 hashes (leaves, or roots of subtrees 8 levels further up) once each, those above leaves in one query. */
export class Tiles {
  private readonly client: Queryable
  private readonly log: number
  private readonly size: number
  private readonly leaves: LeafReader
  private readonly nodes: NodeRanges
  private readonly tiles = new Map<string, Promise<Buffer[]>>()

  constructor(client: Queryable, log: number, size: number, leaves: LeafReader = leavesOf(log)) {
    this.leaves = leaves
    this.client = client
    this.log = log
    this.size = size
    this.nodes = new NodeRanges(client, log)
  }

  /** The hash of any complete subtree, out of the stored hashes beneath it. */
  async hashOf({ level, index }: Subtree): Promise<Buffer> {
    const storedLevel = Math.min(level - (level % TILE_LEVELS), TOP_LEVEL)
    const width = 2 ** (level - storedLevel)
    const hashes: Buffer[] = []
    for (let at = index * width; at < (index + 1) * width; ) {
      const tile = await this.tile(storedLevel, Math.floor(at / TILE))
      const from = at % TILE
      const until = Math.min(TILE, from + (index + 1) * width - at)
      hashes.push(...tile.slice(from, until))
      at += until - from
    }
    if (hashes.length !== width)
      throw new Error(`usage log ${this.log} lacks hashes of level ${storedLevel} beneath ${index}`)
    return foldComplete(hashes)
  }

  /** The first `width` hashes of a tile: leaves, or roots of subtrees of a height that is a multiple of 8. */
  async hashes(level: number, tile: number, width: number): Promise<Buffer[]> {
    if (level <= TOP_LEVEL) return (await this.tile(level, tile)).slice(0, width)
    const first = tile * TILE
    return Promise.all(Array.from({ length: width }, (_, at) => this.hashOf({ level, index: first + at })))
  }

  private tile(level: number, tile: number): Promise<Buffer[]> {
    const name = `${level}/${tile}`
    let hashes = this.tiles.get(name)
    if (hashes === undefined) {
      hashes = this.read(level, tile * TILE, Math.min((tile + 1) * TILE, Math.floor(this.size / 2 ** level)))
      this.tiles.set(name, hashes)
    }
    return hashes
  }

  private async read(level: number, from: number, until: number): Promise<Buffer[]> {
    if (level === 0) return this.leaves(this.client, from, until)
    return this.nodes.read(level, from, until)
  }
}

async function resolve(tiles: Tiles, part: ProofPart): Promise<Buffer> {
  if (part.kind === 'subtree') return tiles.hashOf(part.subtree)
  return rootOf(await Promise.all(part.peaks.map((peak) => tiles.hashOf(peak))))
}

/** The hashes that prove the leaf at `position` in the first `size` leaves, in hex, from the leaf upwards. */
export function inclusionPath(tiles: Tiles, position: number, size: number): Promise<string[]> {
  return pathOf(tiles, proofParts(position, size))
}

/** The hashes that prove that the first `second` leaves begin with the first `first`, in hex. */
export function consistencyPath(tiles: Tiles, first: number, second: number): Promise<string[]> {
  return pathOf(tiles, consistencyParts(first, second))
}

/** The root that a log had when it had this many leaves. */
export function rootAt(client: Queryable, log: number, size: number, leaves: LeafReader): Promise<Buffer> {
  return resolve(new Tiles(client, log, size, leaves), { kind: 'rest', peaks: peaksOf(size) })
}

async function pathOf(tiles: Tiles, parts: readonly ProofPart[]): Promise<string[]> {
  const path = await Promise.all(parts.map((part) => resolve(tiles, part)))
  return path.map((hash) => hash.toString('hex'))
}

/** A receipt by its place in a usage log. */
export interface LoggedLeaf {
  readonly log: number
  readonly position: number
  /** Says where its leaf and those beside it are read first. */
  readonly requestId?: string
}

/**
 * Proves that a receipt is in its usage log. Reads a few hundred rows at most, since subtrees are stored (a
 * log beyond 4 thousand million receipts reads more).
 * @param head of the log, which the proof leads to; as it is now when absent
 * @returns undefined when the log does not reach that far
 */
export async function inclusionProof(
  client: Queryable,
  { log, position, requestId }: LoggedLeaf,
  head?: { readonly size: number; readonly root: Buffer },
): Promise<InclusionProof | undefined> {
  const { size, root } = head ?? (await readHead(client, log))
  if (!Number.isSafeInteger(position) || position < 0 || position >= size) return undefined
  const near = requestId === undefined ? undefined : { position, requestId }
  const tiles = new Tiles(client, log, size, leavesOf(log, near))
  const [proof, leaf] = await Promise.all([
    inclusionPath(tiles, position, size),
    tiles.hashOf({ level: 0, index: position }),
  ])
  return { position, tree_size: size, root: root.toString('hex'), leaf: leaf.toString('hex'), proof }
}
