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
  /** The verifier key of the signature: name, id and public key. */
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

/** Witnesses' lines follow the gateway's own. */
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

/** A signed head and the checkpoint that it is shown in. */
export interface SignedPlace {
  readonly head: LogHead
  /** Of the head in the log of heads. */
  readonly position: number
  /** Size of the checkpoint. */
  readonly treeSize: number
  readonly note: string
}

/** A cosigned checkpoint is preferred to a newer one, because it proves more. Named, because its plan takes longer than its run. */
const SIGNED_PLACE = {
  name: 'signed_place',
  text: `SELECT h.position, h.size, h.root, checkpoint.size AS "treeSize", checkpoint.note
    FROM (SELECT position, size, root FROM log_heads WHERE log = $1 AND size > $2 ORDER BY size LIMIT 1) AS h
    LEFT JOIN LATERAL (
      SELECT ${COLUMNS} FROM checkpoints c WHERE c.size = coalesce(
        (SELECT max(size) FROM cosignatures HAVING max(size) > h.position), (SELECT max(size) FROM checkpoints))
    ) AS checkpoint ON true`,
}

/** The first head signed and kept that has the receipt at `position` of a log; undefined until there is one. */
export async function signedPlace(db: Queryable, log: number, position: number): Promise<SignedPlace | undefined> {
  const found = await db.query<LogHead & Omit<SignedPlace, 'head' | 'treeSize'> & { treeSize: number | null }>({
    ...SIGNED_PLACE,
    values: [log, position],
  })
  const [row] = found.rows
  if (row === undefined) return undefined
  const { size, root, treeSize, note } = row
  if (treeSize === null) throw new Error(`head ${row.position} is in no checkpoint`)
  return { head: { size, root }, position: row.position, treeSize, note }
}

/** Proves that a signed head of a usage log is in its checkpoint. */
export async function proveHead(db: Queryable, log: number, place: SignedPlace): Promise<SignedHead> {
  const { head, position, treeSize } = place
  const path = await inclusionPath(new Tiles(db, HEADS_LOG, treeSize, headLeaves), position, treeSize)
  return { ...place, entry: headText(log, head), path }
}
