import type { Queryable } from '../../runtime/db/pool.ts'
import type { StoredNode } from './frontier.ts'
import { foldComplete, TILE, TILE_LEVELS } from './tile.ts'

/** Reads the stored nodes of one level of a log from an index until another, in their order. */
export async function readNodes(
  db: Queryable,
  log: number,
  level: number,
  [from, until]: readonly [number, number],
): Promise<StoredNode[]> {
  const found = await db.query<StoredNode>(
    `SELECT level, index, hash FROM usage_log_nodes
     WHERE log = $1 AND level = $2 AND index >= $3 AND index < $4 ORDER BY index`,
    [log, level, from, until],
  )
  return found.rows
}

/** Whether leaves are those of a full tile, by the node that is stored above them. */
export async function isFullTile(
  db: Queryable,
  log: number,
  tile: number,
  leaves: readonly Buffer[],
): Promise<boolean> {
  const [node] = await readNodes(db, log, TILE_LEVELS, [tile, tile + 1])
  return leaves.length === TILE && node?.hash.equals(foldComplete(leaves)) === true
}
