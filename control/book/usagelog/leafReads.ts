import type { Queryable } from '../../runtime/db/pool.ts'
import { idBound, idTimeMs, monthStartMs } from '../partitions/idTime.ts'
import { splitHashes, TILE } from './tile.ts'

/** Reads the hashes of leaves `from` until `until`, which are in one tile: side by side, and most often in one month. */
export type LeafReader = (client: Queryable, from: number, until: number) => Promise<Buffer[]>

/** A receipt whose place in its log is known. */
export interface KnownLeaf {
  readonly position: number
  readonly requestId: string
}

interface LeafRow {
  readonly position: number
  readonly hashes: Buffer
}

/**
 * Reads the leaves of a usage log, which are stored with their receipts, or with the remains of archived ones. The month that
 * most likely has all of them is read first: that of a receipt in the same tile, else the present one; then its neighbors,
 * then all.
 * @param near a receipt of the log
 */
export function leavesOf(log: number, near?: KnownLeaf): LeafReader {
  return async (client, from, until) => {
    const isNear = near !== undefined && Math.floor(near.position / TILE) === Math.floor(from / TILE)
    const ms = isNear ? idTimeMs(near.requestId) : Date.now()
    for (const around of [0, 1]) {
      const rows = await monthLeaves(
        client,
        log,
        [from, until],
        [monthStartMs(ms, -around), monthStartMs(ms, around + 1)],
      )
      if (rows.length === until - from) return rows.map(({ hashes }) => hashes)
    }
    return inOrder(await allLeaves(client, log, from, until), from, until)
  }
}

/** Named, because its plan takes longer than its run. */
const MONTH_LEAVES = {
  name: 'month_leaves',
  text: `SELECT position, leaf_hash AS hashes FROM receipts
    WHERE log = $1 AND position >= $2 AND position < $3 AND request_id >= $4 AND request_id < $5 ORDER BY position`,
}

async function monthLeaves(
  client: Queryable,
  log: number,
  [from, until]: readonly [number, number],
  [startMs, endMs]: readonly [number, number],
): Promise<LeafRow[]> {
  const found = await client.query<LeafRow>({
    ...MONTH_LEAVES,
    values: [log, from, until, idBound(startMs), idBound(endMs)],
  })
  return found.rows
}

async function allLeaves(client: Queryable, log: number, from: number, until: number): Promise<LeafRow[]> {
  const found = await client.query<LeafRow>(
    `SELECT position, leaf_hash AS hashes FROM receipts WHERE log = $1 AND position >= $2 AND position < $3
     UNION ALL SELECT position, hashes FROM archived_leaves WHERE log = $1 AND position >= $4 AND position < $3`,
    [log, from, until, from - (from % TILE)],
  )
  return found.rows
}

/** @returns the leaves from the first one on, up to the first gap */
function inOrder(rows: readonly LeafRow[], from: number, until: number): Buffer[] {
  const leaves: (Buffer | undefined)[] = Array.from({ length: until - from })
  for (const { position, hashes } of rows) {
    for (const [i, hash] of splitHashes(hashes).entries()) {
      const at = position + i - from
      if (at >= 0 && at < leaves.length) leaves[at] = hash
    }
  }
  const found: Buffer[] = []
  for (const leaf of leaves) {
    if (leaf === undefined) break
    found.push(leaf)
  }
  return found
}
