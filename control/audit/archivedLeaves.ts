import { splitHashes, TILE } from '../book/usagelog/tile.ts'
import type { Client } from '../runtime/db/pool.ts'

/** A leaf of a usage log whose receipt was put away. */
export interface ArchivedLeaf {
  readonly position: number
  readonly leaf: Buffer
}

/** Rows that are read at once. */
const ROWS_MAX = 64

/**
 * Reads leaves of receipts that were put away, in their order, from a position on.
 * @param upTo the last position that is asked for
 * @returns the leaves, and up to which position these are all that there are
 */
export async function archivedLeaves(
  client: Client,
  log: number,
  from: number,
  upTo: number,
): Promise<{ leaves: ArchivedLeaf[]; upTo: number }> {
  const found = await client.query<{ position: number; hashes: Buffer }>(
    `SELECT position, hashes FROM archived_leaves WHERE log = $1 AND position > $2 AND position <= $3
     ORDER BY position LIMIT ${ROWS_MAX}`,
    [log, from - TILE, upTo],
  )
  const leaves: ArchivedLeaf[] = []
  for (const { position, hashes } of found.rows) {
    for (const [i, leaf] of splitHashes(hashes).entries()) {
      const at = position + i
      if (at >= from && at <= upTo) leaves.push({ position: at, leaf })
    }
  }
  return { leaves, upTo: found.rows.length < ROWS_MAX ? upTo : (leaves.at(-1)?.position ?? upTo) }
}
