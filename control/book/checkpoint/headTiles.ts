import type { Queryable } from '../../runtime/db/pool.ts'
import { LOG_COUNT } from '../usagelog/head.ts'
import type { LeafReader } from '../usagelog/leafReads.ts'
import { leafHash } from '../usagelog/merkle.ts'
import { splitHashes, TILE } from '../usagelog/tile.ts'
import { headText, type LogHead } from './checkpointText.ts'

/** The kept entries of the log of heads from `from` until `until`. */
export async function headEntries(db: Queryable, from: number, until: number): Promise<string[]> {
  const found = await db.query<LogHead & { log: number }>(
    'SELECT log, size, root FROM log_heads WHERE position >= $1 AND position < $2 ORDER BY position',
    [from, until],
  )
  return found.rows.map((head) => headText(head.log, head))
}

/** The hashes of a tile whose entries are not kept any more; undefined for all others. */
export async function keptLeaves(db: Queryable, tile: number): Promise<Buffer[] | undefined> {
  const found = await db.query<{ leaves: Buffer }>('SELECT leaves FROM log_head_tiles WHERE tile = $1', [tile])
  const [row] = found.rows
  return row && splitHashes(row.leaves)
}

/** Reads the leaves of the log of heads, of one tile at a time. */
export const headLeaves: LeafReader = async (client, from, until) => {
  const entries = await headEntries(client, from, until)
  if (entries.length > 0) return entries.map(leafHash)
  const first = from - (from % TILE)
  const leaves = await keptLeaves(client, first / TILE)
  return leaves?.slice(from - first, until - first) ?? []
}

/** The tiles that have the newest head of a usage log, which everything in that log is proved by. */
export async function tilesInUse(db: Queryable): Promise<number[]> {
  const found = await db.query<{ tile: number }>(
    `SELECT DISTINCT h.position / ${TILE} AS tile
     FROM generate_series(0, ${LOG_COUNT - 1}) AS l (log)
     CROSS JOIN LATERAL (SELECT position FROM log_heads WHERE log = l.log ORDER BY size DESC LIMIT 1) h`,
  )
  return found.rows.map(({ tile }) => tile)
}
