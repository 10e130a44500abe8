import type { Queryable } from '../../runtime/db/pool.ts'
import { HEADS_LOG } from '../usagelog/head.ts'
import { consistencyPath, inclusionPath, Tiles } from '../usagelog/inclusionProof.ts'
import type { LeafReader } from '../usagelog/leafReads.ts'
import { leafHash } from '../usagelog/merkle.ts'
import { headText, type LogHead } from './checkpointText.ts'

/** A checkpoint as it was signed. */
export interface StoredCheckpoint {
  /** Of the log of heads. */
  readonly size: number
  readonly note: string
  /** What the signature is checked with: name, id and public key. */
  readonly key: string
  readonly signedAt: Date
}

/** A head of a usage log with its place in the log of heads of the last checkpoint. Hashes are hex. */
export interface SignedHead {
  readonly head: LogHead
  readonly position: number
  readonly entry: string
  readonly treeSize: number
  /** From the entry upwards. */
  readonly path: readonly string[]
  readonly note: string
}

const COLUMNS = 'size, note, key, signed_at AS "signedAt"'

/** Reads the leaves of the log of heads. */
export const headLeaves: LeafReader = async (client, from, until) => {
  const found = await client.query<LogHead & { log: number }>(
    'SELECT log, size, root FROM log_heads WHERE position >= $1 AND position < $2 ORDER BY position',
    [from, until],
  )
  return found.rows.map((head) => leafHash(headText(head.log, head)))
}

/** The newest checkpoint; undefined before the first one. */
export async function lastCheckpoint(db: Queryable): Promise<StoredCheckpoint | undefined> {
  const found = await db.query<StoredCheckpoint>(`SELECT ${COLUMNS} FROM checkpoints ORDER BY size DESC LIMIT 1`)
  return found.rows[0]
}

/** The newest head of a usage log that was signed; undefined before the first one. */
export async function lastHead(db: Queryable, log: number): Promise<LogHead | undefined> {
  const found = await db.query<LogHead>('SELECT size, root FROM log_heads WHERE log = $1 ORDER BY size DESC LIMIT 1', [
    log,
  ])
  return found.rows[0]
}

/** Checkpoints, newest first. @param below the size that all of them are below */
export async function listCheckpoints(db: Queryable, limit: number, below: number): Promise<StoredCheckpoint[]> {
  const found = await db.query<StoredCheckpoint>(
    `SELECT ${COLUMNS} FROM checkpoints WHERE size < $1 ORDER BY size DESC LIMIT $2`,
    [below, limit],
  )
  return found.rows
}

/**
 * Proves that a checkpoint contains an earlier one.
 * @param first,second their sizes, the earlier one first
 * @returns hashes in hex; undefined where one of them is no checkpoint
 */
export async function consistencyProof(db: Queryable, first: number, second: number): Promise<string[] | undefined> {
  if (first > second) return undefined
  const found = await db.query<{ count: number }>('SELECT count(*) FROM checkpoints WHERE size IN ($1, $2)', [
    first,
    second,
  ])
  if (found.rows[0]?.count !== (first === second ? 1 : 2)) return undefined
  return consistencyPath(new Tiles(db, HEADS_LOG, second, headLeaves), first, second)
}

/** The first head signed that has the receipt at `position` of a log; undefined until there is one. */
export async function signedHead(db: Queryable, log: number, position: number): Promise<SignedHead | undefined> {
  const found = await db.query<LogHead & { position: number }>(
    'SELECT position, size, root FROM log_heads WHERE log = $1 AND size > $2 ORDER BY size LIMIT 1',
    [log, position],
  )
  const [row] = found.rows
  if (row === undefined) return undefined
  const last = await lastCheckpoint(db)
  if (last === undefined) throw new Error(`head ${row.position} is in no checkpoint`)
  const { size: treeSize, note } = last
  const path = await inclusionPath(new Tiles(db, HEADS_LOG, treeSize, headLeaves), row.position, treeSize)
  const head = { size: row.size, root: row.root }
  return { head, position: row.position, entry: headText(log, head), treeSize, path, note }
}
