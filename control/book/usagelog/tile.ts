import { HASH_BYTES, nodeHash } from './merkle.ts'

/** Levels of a tree from one row of tiles up to the next, as in https://c2sp.org/tlog-tiles. */
export const TILE_LEVELS = 8
/** Hashes of a full tile: leaves, or roots of subtrees whose height is a multiple of TILE_LEVELS. */
export const TILE: number = 2 ** TILE_LEVELS
/**
 * Heights whose complete subtrees are stored. Those between the heights of tiles shorten the reads for a proof; books of an
 * older version lack them.
 */
export const STORED_LEVELS: readonly number[] = [4, 8, 12, 16, 20, 24]

/** Whether every complete subtree of a stored height is there, whichever version has booked it. */
export function isAlwaysStored(level: number): boolean {
  return level % TILE_LEVELS === 0
}

/** Splits concatenated hashes. They share the memory of the whole. */
export function splitHashes(joined: Buffer): Buffer[] {
  return Array.from({ length: Math.floor(joined.length / HASH_BYTES) }, (_, at) =>
    joined.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}

/** Root over the hashes of a complete subtree, whose number is a power of two. */
export function foldComplete(hashes: readonly Buffer[]): Buffer {
  let level = [...hashes]
  while (level.length > 1) {
    const above: Buffer[] = []
    for (let i = 0; i < level.length; i += 2) above.push(nodeHash(level[i] as Buffer, level[i + 1] as Buffer))
    level = above
  }
  return level[0] as Buffer
}
