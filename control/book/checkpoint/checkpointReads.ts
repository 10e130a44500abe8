import type { Queryable } from '../../runtime/db/pool.ts'
import { HEADS_LOG } from '../usagelog/head.ts'
import { consistencyPath, inclusionPath, Tiles } from '../usagelog/inclusionProof.ts'
import { headText, type LogHead } from './checkpointText.ts'
import { headLeaves } from './headTiles.ts'

/** A checkpoint as it was signed. */
export interface StoredCheckpoint {
  /** Of the log of heads. */
  readonly size: number
  /** With the cosignatures of witnesses. */
  readonly note: string
  /** What the signature is checked with: name, id and public key. */
  readonly key: string
  readonly signedAt: Date
}

/**
 * A head of a usage log with its place in the log of heads of a checkpoint: of the newest that was cosigned, or else of the
 * newest. Hashes are hex.
 */
export interface SignedHead {
  readonly head: LogHead
  readonly position: number
  readonly entry: string
  readonly treeSize: number
  /** From the entry upwards. */
  readonly path: readonly string[]
  readonly note: string
}

/** Witnesses' lines stand below the gateway's own. */
const COLUMNS = `c.size, c.key, c.signed_at AS "signedAt",
  c.note || coalesce((SELECT string_agg(w.line, '' ORDER BY w.witness) FROM cosignatures w WHERE w.size = c.size), '') AS note`

/** The newest checkpoint; undefined before the first one. */
export async function lastCheckpoint(db: Queryable): Promise<StoredCheckpoint | undefined> {
  const found = await db.query<StoredCheckpoint>(`SELECT ${COLUMNS} FROM checkpoints c ORDER BY size DESC LIMIT 1`)
  return found.rows[0]
}

/** The newest checkpoint that a witness has cosigned; undefined where there is none. */
export async function lastCosigned(db: Queryable): Promise<StoredCheckpoint | undefined> {
  const found = await db.query<StoredCheckpoint>(
    `SELECT ${COLUMNS} FROM checkpoints c WHERE size = (SELECT max(size) FROM cosignatures)`,
  )
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
    `SELECT ${COLUMNS} FROM checkpoints c WHERE size < $1 ORDER BY size DESC LIMIT $2`,
    [below, limit],
  )
  return found.rows
}

/**
 * Proves that a checkpoint contains an earlier one, which need not be kept any more.
 * @param first,second their sizes, the earlier one first
 * @returns hashes in hex; undefined where the last checkpoint does not reach that far
 */
export async function consistencyProof(db: Queryable, first: number, second: number): Promise<string[] | undefined> {
  if (first < 1 || first > second || second > ((await lastCheckpoint(db))?.size ?? 0)) return undefined
  return consistencyPath(new Tiles(db, HEADS_LOG, second, headLeaves), first, second)
}

/** The first head signed and kept that has the receipt at `position` of a log; undefined until there is one. */
export async function signedHead(db: Queryable, log: number, position: number): Promise<SignedHead | undefined> {
  const found = await db.query<LogHead & { position: number }>(
    'SELECT position, size, root FROM log_heads WHERE log = $1 AND size > $2 ORDER BY size LIMIT 1',
    [log, position],
  )
  const [row] = found.rows
  if (row === undefined) return undefined
  const cosigned = await lastCosigned(db)
  // Others stand in for what was cosigned, so that it says more than a newer one.
  const checkpoint = cosigned !== undefined && cosigned.size > row.position ? cosigned : await lastCheckpoint(db)
  if (checkpoint === undefined) throw new Error(`head ${row.position} is in no checkpoint`)
  const { size: treeSize, note } = checkpoint
  const path = await inclusionPath(new Tiles(db, HEADS_LOG, treeSize, headLeaves), row.position, treeSize)
  const head = { size: row.size, root: row.root }
  return { head, position: row.position, entry: headText(log, head), treeSize, path, note }
}
