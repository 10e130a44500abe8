import type { Queryable } from '../../runtime/db/pool.ts'
import { readHead } from './head.ts'
import { type LeafReader, leavesOf } from './leafReads.ts'
import { consistencyParts, type ProofPart, peaksOf, proofParts, rootOf, type Subtree } from './merkle.ts'
import { NodeRanges } from './nodeRanges.ts'
import { foldComplete, isAlwaysStored, STORED_LEVELS, TILE, TILE_LEVELS } from './tile.ts'

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

/** Reads the stored hashes of a log (leaves, or roots of subtrees) once each, those above leaves in one query. */
export class Tiles {
  private readonly client: Queryable
  private readonly log: number
  private readonly size: number
  private readonly leaves: LeafReader
  private readonly nodes: NodeRanges
  private readonly groups = new Map<string, Promise<Buffer[]>>()

  constructor(client: Queryable, log: number, size: number, leaves: LeafReader = leavesOf(log)) {
    this.leaves = leaves
    this.client = client
    this.log = log
    this.size = size
    this.nodes = new NodeRanges(client, log)
  }

  /** The hash of any complete subtree, out of the stored hashes beneath it. */
  async hashOf(subtree: Subtree): Promise<Buffer> {
    const nearest = storedBelow(subtree.level)
    const hashes = await this.beneath(subtree, nearest, 2 ** (storedAbove(nearest) - nearest))
    if (hashes.length === 2 ** (subtree.level - nearest)) return foldComplete(hashes)
    // The other subtrees of the proof most likely lack theirs, too: one read of a tile serves all of them.
    if (!isAlwaysStored(nearest)) return foldComplete(await this.beneath(subtree, storedBelow(nearest - 1), TILE))
    throw new Error(`usage log ${this.log} lacks hashes of level ${nearest} beneath ${subtree.index}`)
  }

  /** The first `width` hashes of a tile: leaves, or roots of subtrees of a height that is a multiple of 8. */
  async hashes(level: number, tile: number, width: number): Promise<Buffer[]> {
    const first = tile * TILE
    if (level <= TOP_LEVEL) return this.read(level, first, first + width)
    return Promise.all(Array.from({ length: width }, (_, at) => this.hashOf({ level, index: first + at })))
  }

  /** The stored hashes of a height that are beneath a subtree, read in groups of a width. */
  private async beneath({ level, index }: Subtree, stored: number, groupWidth: number): Promise<Buffer[]> {
    const width = 2 ** (level - stored)
    const hashes: Buffer[] = []
    for (let at = index * width; at < (index + 1) * width; ) {
      const group = await this.group(stored, Math.floor(at / groupWidth), groupWidth)
      const from = at % groupWidth
      const until = Math.min(groupWidth, from + (index + 1) * width - at)
      hashes.push(...group.slice(from, until))
      at += until - from
    }
    return hashes
  }

  /** The hashes beneath one node of a greater height; none where one of them is missing. */
  private group(level: number, number: number, width: number): Promise<Buffer[]> {
    const name = `${level}/${number}/${width}`
    let hashes = this.groups.get(name)
    if (hashes === undefined) {
      const from = number * width
      const until = Math.min(from + width, Math.floor(this.size / 2 ** level))
      hashes = this.read(level, from, until).then((found) => (found.length === until - from ? found : []))
      this.groups.set(name, hashes)
    }
    return hashes
  }

  private async read(level: number, from: number, until: number): Promise<Buffer[]> {
    if (level === 0) return this.leaves(this.client, from, until)
    return this.nodes.read(level, from, until)
  }
}

/** The greatest stored height up to one; leaves are stored, too. */
function storedBelow(level: number): number {
  return STORED_LEVELS.findLast((stored) => stored <= level) ?? 0
}

function storedAbove(level: number): number {
  return STORED_LEVELS.find((stored) => stored > level) ?? level + TILE_LEVELS
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
  /** Says where its leaf and the neighbors are read first. */
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
