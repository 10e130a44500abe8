import type { StoredNode } from '../book/usagelog/frontier.ts'
import { readNodes } from '../book/usagelog/storedNodes.ts'
import { isAlwaysStored, STORED_LEVELS } from '../book/usagelog/tile.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { Faults } from './check.ts'

/** Hashes by the places of their nodes. */
export type NodeHashes = ReadonlyMap<string, Buffer>

const placeOf = ({ level, index }: { level: number; index: number }): string => `node ${index} of level ${level}`

/** Reads the stored hashes of the subtrees that a log completes while it grows from one size to another. */
export async function nodesBetween(
  client: Client,
  log: number,
  [size, grown]: readonly [number, number],
): Promise<NodeHashes> {
  const ranges = STORED_LEVELS.map((level) => ({
    level,
    from: Math.floor(size / 2 ** level),
    until: Math.floor(grown / 2 ** level),
  }))
  const read = ranges
    .filter(({ from, until }) => from < until)
    .map(({ level, from, until }) => readNodes(client, log, level, [from, until]))
  return new Map((await Promise.all(read)).flat().map((node) => [placeOf(node), node.hash]))
}

/** Compares the stored hashes of a log's subtrees with the computed ones; those that an older version leaves out may be missing. */
export function compareNodes(log: number, completed: readonly StoredNode[], stored: NodeHashes, faults: Faults): void {
  for (const node of completed) {
    const place = placeOf(node)
    const hash = stored.get(place)
    if (hash === undefined && !isAlwaysStored(node.level)) continue
    if (hash?.equals(node.hash) !== true) faults.add(`${place} of log ${log}`)
  }
}
