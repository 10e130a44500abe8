import { splitHashes, TILE } from '../book/usagelog/tile.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { AuditLimits } from './limits.ts'
import { longQuery } from './workspace.ts'

/** A leaf of a usage log. */
export interface PlacedLeaf {
  readonly position: number
  readonly leaf: Buffer
}

/** Reads the leaves of archived receipts, from a position until another, in their order. */
export async function archivedLeaves(
  client: Client,
  log: number,
  [from, until]: readonly [number, number],
  limits: AuditLimits,
): Promise<PlacedLeaf[]> {
  const found = await client.query<{ position: number; hashes: Buffer }>(
    longQuery(
      limits,
      'SELECT position, hashes FROM archived_leaves WHERE log = $1 AND position > $2 AND position < $3 ORDER BY position',
      [log, from - TILE, until],
    ),
  )
  const leaves: PlacedLeaf[] = []
  for (const { position, hashes } of found.rows) {
    for (const [i, leaf] of splitHashes(hashes).entries()) {
      const at = position + i
      if (at >= from && at < until) leaves.push({ position: at, leaf })
    }
  }
  return leaves
}
