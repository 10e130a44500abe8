import { LEAF_TEXT_SQL } from '../book/receipt/generated/receipt.ts'
import { HAS_TAGS_HASH } from '../book/receipt/tagsHash.ts'
import { HASH_BYTES } from '../book/usagelog/merkle.ts'
import { splitHashes, TILE } from '../book/usagelog/tile.ts'
import type { Client } from '../runtime/db/pool.ts'
import { archivedLeaves, type PlacedLeaf } from './archivedLeaves.ts'
import type { AuditLimits } from './limits.ts'
import { longQuery } from './workspace.ts'

/** The leaves of a stretch of a usage log. */
export interface LeafPage {
  /** In the order of their positions; those of receipts are computed from the receipts. */
  readonly leaves: readonly PlacedLeaf[]
  /** Receipts whose stored leaf differs from the computed one, by their names and positions. */
  readonly others: readonly string[]
  /** Where the next ones begin. */
  readonly until: number
}

interface PageRow {
  readonly positions: string | null
  readonly leaves: Buffer | null
  readonly others: string[] | null
}

/** Leaf hashes as in merkle.ts. OFFSET 0 keeps the planner from computing them twice, once for each use. */
const PAGE = `
  SELECT string_agg(position::text, ',' ORDER BY position) AS positions, string_agg(leaf, '' ORDER BY position) AS leaves,
    array_agg(request_id || ' at ' || position ORDER BY position) FILTER (WHERE leaf <> leaf_hash OR NOT tagged) AS others
  FROM (
    SELECT position, request_id, leaf_hash, sha256('\\x00' || convert_to(${LEAF_TEXT_SQL}, 'UTF8')) AS leaf, ${HAS_TAGS_HASH} AS tagged
    FROM receipts WHERE log = $1 AND position >= $2 AND position < $3 ORDER BY position OFFSET 0
  ) AS r`

/** The first position from $2 on that has a receipt, or the leaf of an archived one. */
const FIRST = `
  SELECT least(
    (SELECT position FROM receipts WHERE log = $1 AND position >= $2 ORDER BY position LIMIT 1),
    (SELECT greatest(position, $2) FROM archived_leaves
     WHERE log = $1 AND position > $2 - ${TILE} AND position + length(hashes) / ${HASH_BYTES} > $2
     ORDER BY position LIMIT 1)
  ) AS position`

/** Reads the next leaves of a log. @returns undefined if the log has none from this position on */
export async function readLeaves(
  client: Client,
  log: number,
  from: number,
  limits: AuditLimits,
): Promise<LeafPage | undefined> {
  const until = from + limits.auditLeafPositions
  // The queries run concurrently, so that the database prepares the next page while the caller reads the page before.
  const [page, archived] = await Promise.all([
    client.query<PageRow>(longQuery(limits, PAGE, [log, from, until])),
    archivedLeaves(client, log, [from, until], limits),
  ])
  const { positions, leaves, others } = page.rows[0] ?? { positions: null, leaves: null, others: null }
  const all = inOrder(leavesAt(positions, leaves), archived)
  if (all.length > 0) return { leaves: all, others: others ?? [], until }
  const found = await client.query<{ position: number | null }>(FIRST, [log, until])
  const next = found.rows[0]?.position ?? undefined
  return next === undefined ? undefined : readLeaves(client, log, next, limits)
}

function leavesAt(positions: string | null, leaves: Buffer | null): PlacedLeaf[] {
  if (positions === null || leaves === null) return []
  const hashes = splitHashes(leaves)
  return positions.split(',').map((position, i) => ({ position: Number(position), leaf: hashes[i] as Buffer }))
}

/** If archiving a month was interrupted, its leaves are stored as archived leaves, too. */
function inOrder(leaves: PlacedLeaf[], archived: readonly PlacedLeaf[]): PlacedLeaf[] {
  if (archived.length === 0) return leaves
  const known = new Set(leaves.map(({ position }) => position))
  const kept = archived.filter(({ position }) => !known.has(position))
  return [...leaves, ...kept].sort((a, b) => a.position - b.position)
}
