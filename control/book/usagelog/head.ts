import { byteaArray, intArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { Frontier, type StoredNode } from './frontier.ts'

/**
 * Reads the right edge of the log and locks it until the caller's transaction ends: whoever appends waits here for their
 * turn, and sees what those before them appended.
 */
export async function lockHead(client: Client): Promise<Frontier> {
  const found = await client.query<{ size: number; peaks: Buffer }>('SELECT size, peaks FROM usage_log_head FOR UPDATE')
  const row = found.rows[0]
  if (row === undefined) throw new Error('the usage log has no head row: the migrations did not run')
  return new Frontier(row.size, row.peaks)
}

/**
 * Appends leaf hashes; the caller gives its receipts the positions from the old size on, in the same order.
 * @param frontier from lockHead in the same transaction
 */
export async function appendLeaves(client: Client, frontier: Frontier, leaves: readonly Buffer[]): Promise<void> {
  if (leaves.length === 0) return
  const completed: StoredNode[] = []
  for (const leaf of leaves) completed.push(...frontier.append(leaf))
  // Given together: a statement that waited for another could come after the rollback of a caller that waits for neither.
  await Promise.all([
    insertNodes(client, completed),
    client.query('UPDATE usage_log_head SET size = $1, peaks = $2', [frontier.size, frontier.peaks()]),
  ])
}

async function insertNodes(client: Client, nodes: readonly StoredNode[]): Promise<void> {
  if (nodes.length === 0) return
  await client.query(
    `INSERT INTO usage_log_nodes (level, index, hash)
     SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])`,
    [
      intArray(nodes.map((node) => node.level)),
      intArray(nodes.map((node) => node.index)),
      byteaArray(nodes.map((node) => node.hash)),
    ],
  )
}
