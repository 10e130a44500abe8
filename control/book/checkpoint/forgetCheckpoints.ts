import { intArray } from '../../runtime/db/arrays.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { HEADS_LOG } from '../usagelog/head.ts'
import { isFullTile } from '../usagelog/storedNodes.ts'
import { TILE } from '../usagelog/tile.ts'
import { headLeaves, tilesInUse } from './headTiles.ts'

/**
 * Removes checkpoints older than limits.checkpointsKeptMs, and entries of the log of heads that are in none of the others,
 * a bounded number of both. The hashes of those entries stay, and so do the newest heads of all logs: every receipt can be
 * proved, and a removed checkpoint can still be proved to be contained in the later ones.
 * @returns whether there may be more
 * @throws Error when entries do not match their signed hash; nothing is removed then
 */
export function forgetCheckpoints(pool: Pool, limits: BookLimits): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'oldCheckpoints')
    const forgotten = await removeCheckpoints(client, limits)
    const tiles = await oldTiles(client, limits)
    for (const tile of tiles) await removeEntries(client, tile)
    return forgotten >= limits.checkpointsForgottenMax || tiles.length >= limits.headTilesForgottenMax
  })
}

async function removeCheckpoints(client: Client, limits: BookLimits): Promise<number> {
  const found = await client.query<{ size: number }>(
    `SELECT size FROM (SELECT size, signed_at FROM checkpoints ORDER BY size LIMIT $1) AS oldest
     WHERE signed_at < now() - $2 * interval '1 ms' AND size < (SELECT max(size) FROM checkpoints)`,
    [limits.checkpointsForgottenMax, limits.checkpointsKeptMs],
  )
  if (found.rows.length === 0) return 0
  const sizes = intArray(found.rows.map(({ size }) => size))
  await client.query('DELETE FROM cosignatures WHERE size = ANY ($1::bigint[])', [sizes])
  await client.query('DELETE FROM checkpoints WHERE size = ANY ($1::bigint[])', [sizes])
  return found.rows.length
}

/** Tiles before the first checkpoint that is kept, that have no head which is still the newest of its log. */
async function oldTiles(client: Client, limits: BookLimits): Promise<number[]> {
  const found = await client.query<{ tile: number }>(
    `SELECT position / ${TILE} AS tile FROM log_heads
     WHERE position % ${TILE} = ${TILE - 1} AND position < (SELECT min(size) FROM checkpoints)
       AND position / ${TILE} <> ALL ($1::bigint[])
     ORDER BY position LIMIT $2`,
    [intArray(await tilesInUse(client)), limits.headTilesForgottenMax],
  )
  return found.rows.map(({ tile }) => tile)
}

async function removeEntries(client: Client, tile: number): Promise<void> {
  const [from, until] = [tile * TILE, (tile + 1) * TILE]
  const leaves = await headLeaves(client, from, until)
  if (!(await isFullTile(client, HEADS_LOG, tile, leaves))) {
    throw new Error(`heads ${from} to ${until - 1} are not what was signed: see \`make audit\``)
  }
  await client.query('INSERT INTO log_head_tiles (tile, leaves) VALUES ($1, $2)', [tile, Buffer.concat(leaves)])
  await client.query('DELETE FROM log_heads WHERE position >= $1 AND position < $2', [from, until])
}
