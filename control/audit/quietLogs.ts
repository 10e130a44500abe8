import type { Frontier } from '../book/usagelog/frontier.ts'
import { HASH_BYTES } from '../book/usagelog/merkle.ts'
import { TILE } from '../book/usagelog/tile.ts'
import { byteaArray, intArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { AuditLimits } from './limits.ts'
import { longQuery } from './workspace.ts'

/**
 * Logs whose head is the given one, and that have no leaf, no signed head and no node after it. LIMIT has each of these looked
 * up by its index, log by log, in place of a join with all receipts.
 */
const QUIET = `
  SELECT l.log FROM unnest($1::integer[], $2::bigint[], $3::bytea[]) AS l (log, size, peaks)
    JOIN usage_log_heads h ON h.log = l.log AND h.size = l.size AND h.peaks = l.peaks
  WHERE (SELECT position FROM receipts WHERE log = l.log AND position >= l.size ORDER BY position LIMIT 1) IS NULL
    AND (SELECT position FROM archived_leaves
         WHERE log = l.log AND position > l.size - ${TILE} AND position + length(hashes) / ${HASH_BYTES} > l.size
         ORDER BY position LIMIT 1) IS NULL
    AND (SELECT size FROM log_heads WHERE log = l.log AND size >= l.size ORDER BY size LIMIT 1) IS NULL
    AND (SELECT level FROM usage_log_nodes WHERE log = l.log AND (index + 1) * (2::bigint ^ level) > l.size LIMIT 1) IS NULL`

/**
 * Finds the logs that have not changed since the frontiers, which need no further check. Most logs of a small book are
 * empty, and the queries that read one log take longer than all else of its audit.
 * @param frontiers of the logs, by their numbers
 */
export async function quietLogs(
  client: Client,
  frontiers: readonly Frontier[],
  limits: AuditLimits,
): Promise<ReadonlySet<number>> {
  const values = [
    intArray([...frontiers.keys()]),
    intArray(frontiers.map(({ size }) => size)),
    byteaArray(frontiers.map((frontier) => frontier.peaks())),
  ]
  const found = await client.query<{ log: number }>(longQuery(limits, QUIET, values))
  return new Set(found.rows.map(({ log }) => log))
}
