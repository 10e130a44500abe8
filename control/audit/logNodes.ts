import type { StoredNode } from '../book/usagelog/frontier.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { Faults } from './check.ts'

/** Compares what is stored of a log's subtrees with what was computed of them. */
export async function compareNodes(
  client: Client,
  log: number,
  completed: readonly StoredNode[],
  faults: Faults,
): Promise<void> {
  for (const { level, index, hash } of completed) {
    const found = await client.query<{ hash: Buffer }>(
      'SELECT hash FROM usage_log_nodes WHERE log = $1 AND level = $2 AND index = $3',
      [log, level, index],
    )
    if (found.rows[0]?.hash.equals(hash) !== true) faults.add(`node ${index} of level ${level} of log ${log}`)
  }
}
