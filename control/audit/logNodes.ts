import type { StoredNode } from '../book/usagelog/frontier.ts'
import { readNodes } from '../book/usagelog/storedNodes.ts'
import { STORED_LEVELS } from '../book/usagelog/tile.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { Faults } from './check.ts'

/** Compares what is stored of a log's subtrees with what was computed of them.
 * @param completed those of each level follow each other without a gap */
export async function compareNodes(
  client: Client,
  log: number,
  completed: readonly StoredNode[],
  faults: Faults,
): Promise<void> {
  for (const level of STORED_LEVELS) {
    const own = completed.filter((node) => node.level === level)
    const [first, last] = [own[0], own.at(-1)]
    if (first === undefined || last === undefined) continue
    const stored = await readNodes(client, log, level, [first.index, last.index + 1])
    const hashes = new Map(stored.map(({ index, hash }) => [index, hash]))
    for (const { index, hash } of own) {
      if (hashes.get(index)?.equals(hash) !== true) faults.add(`node ${index} of level ${level} of log ${log}`)
    }
  }
}
