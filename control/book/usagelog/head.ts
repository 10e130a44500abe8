import { SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { byteaArray, intArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { Frontier, type StoredNode } from './frontier.ts'

/** The log of all receipts from before each shard had one; closed. */
export const FIRST_LOG = SHARD_COUNT
/** Usage logs, the first one among them. */
export const LOG_COUNT: number = SHARD_COUNT + 1
/** The log of heads, which says what the usage logs were at each checkpoint. */
export const HEADS_LOG: number = LOG_COUNT

/** The size and the root of a log. */
export interface CurrentHead {
  readonly log: number
  readonly size: number
  readonly root: Buffer
}

interface HeadRow {
  readonly log: number
  readonly size: number
  readonly peaks: Buffer
}

/** Reads the heads of the logs up to the one of this number, in the order of their numbers. */
export async function readHeads(db: Queryable, last: number): Promise<CurrentHead[]> {
  const found = await db.query<HeadRow>('SELECT log, size, peaks FROM usage_log_heads WHERE log <= $1 ORDER BY log', [
    last,
  ])
  return found.rows.map(currentHead)
}

/** Reads the head of one log; a missing log is empty. */
export async function readHead(db: Queryable, log: number): Promise<CurrentHead> {
  const found = await db.query<HeadRow>('SELECT log, size, peaks FROM usage_log_heads WHERE log = $1', [log])
  return currentHead(found.rows[0] ?? { log, size: 0, peaks: Buffer.alloc(0) })
}

function currentHead({ log, size, peaks }: HeadRow): CurrentHead {
  return { log, size, root: new Frontier(size, peaks).root() }
}

/**
 * Reads the right edges of logs and locks them until the caller's transaction ends: a transaction that appends to one of them
 * waits here for its turn, and sees the leaves that earlier ones appended. The logs are locked in the order of their numbers,
 * which prevents deadlocks.
 */
export async function lockHeads(client: Client, logs: readonly number[]): Promise<Map<number, Frontier>> {
  locking(client, 'heads', () => logs.map((log) => String(log).padStart(2, '0')))
  const found = await client.query<HeadRow>({
    name: 'usage_log_lock',
    text: `SELECT log, size, peaks FROM usage_log_heads WHERE log = ANY ($1::smallint[]) AND log <> ${FIRST_LOG}
           ORDER BY log FOR UPDATE`,
    values: [intArray(logs)],
  })
  if (found.rows.length !== logs.length) throw new Error(`not all of the usage logs ${logs} can be appended to`)
  return new Map(found.rows.map(({ log, size, peaks }) => [log, new Frontier(size, peaks)]))
}

/** The leaves that are appended to one log. */
export interface Appended {
  readonly log: number
  /** From lockHeads in the same transaction. */
  readonly frontier: Frontier
  readonly leaves: readonly Buffer[]
}

interface LogNode extends StoredNode {
  readonly log: number
}

/** Appends leaf hashes; the caller gives its receipts the positions from the old sizes on, in the same order. */
export async function appendLeaves(client: Client, appended: readonly Appended[]): Promise<void> {
  const changed = appended.filter(({ leaves }) => leaves.length > 0)
  if (changed.length === 0) return
  const completed: LogNode[] = []
  for (const { log, frontier, leaves } of changed) {
    for (const leaf of leaves) for (const node of frontier.append(leaf)) completed.push({ log, ...node })
  }
  // Sent together: a statement that waited for another could run after the rollback of a caller that waits for neither.
  await Promise.all([insertNodes(client, completed), writeHeads(client, changed)])
}

async function writeHeads(client: Client, changed: readonly Appended[]): Promise<void> {
  await client.query({
    name: 'usage_log_heads',
    text: `UPDATE usage_log_heads h SET size = n.size, peaks = n.peaks
           FROM unnest($1::smallint[], $2::bigint[], $3::bytea[]) AS n (log, size, peaks) WHERE h.log = n.log`,
    values: [
      intArray(changed.map(({ log }) => log)),
      intArray(changed.map(({ frontier }) => frontier.size)),
      byteaArray(changed.map(({ frontier }) => frontier.peaks())),
    ],
  })
}

async function insertNodes(client: Client, nodes: readonly LogNode[]): Promise<void> {
  if (nodes.length === 0) return
  await client.query(
    `INSERT INTO usage_log_nodes (log, level, index, hash)
     SELECT * FROM unnest($1::smallint[], $2::smallint[], $3::bigint[], $4::bytea[])`,
    [
      intArray(nodes.map((node) => node.log)),
      intArray(nodes.map((node) => node.level)),
      intArray(nodes.map((node) => node.index)),
      byteaArray(nodes.map((node) => node.hash)),
    ],
  )
}
