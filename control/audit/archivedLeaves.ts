import { HASH_BYTES } from '../book/usagelog/merkle.ts'
import type { Client } from '../runtime/db/pool.ts'

/** A leaf of a usage log whose receipt was put away. */
export interface ArchivedLeaf {
  readonly position: number
  readonly leaf: Buffer
}

/** Leaves of one row at most. */
const TILE = 256
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
    for (let i = 0; i * HASH_BYTES < hashes.length; i++) {
      const at = position + i
      const leaf = hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES)
      if (at >= from && at <= upTo) leaves.push({ position: at, leaf })
    }
  }
  return { leaves, upTo: found.rows.length < ROWS_MAX ? upTo : (leaves.at(-1)?.position ?? upTo) }
}
