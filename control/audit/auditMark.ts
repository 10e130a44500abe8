import { type NoteKey, openNote } from '../book/checkpoint/noteKey.ts'
import { LOG_COUNT } from '../book/usagelog/head.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'
import { readCursors } from './addReceipts.ts'
import type { AuditLimits } from './limits.ts'
import { digestSums, keepSums } from './sumTables.ts'

/** Names the layout of marks; a changed one gets another name. */
const FORMAT = 'sluice-audit/2'

/** How far a usage log was checked, or the log of heads. */
interface CheckedLog {
  readonly size: number
  /** Hex; see Frontier. */
  readonly peaks: string
  /** The size of its newest head that was signed. */
  readonly signed: number
}

/** How far a clean audit has checked. */
export interface AuditMark {
  readonly format: string
  /** When it began. */
  readonly at: string
  /** Transfers that were booked before this moment were all there. */
  readonly since: string
  /** By their numbers. */
  readonly logs: readonly CheckedLog[]
  /** By log, up to where charges were counted for referrals. */
  readonly cursors: readonly number[]
  /** Archived months. */
  readonly archives: readonly string[]
  /** Digest of the sums. */
  readonly sums: string
}

/** The moment before which no further bookings can appear; to be read before the book. */
export async function bookedUntil(pool: Pool): Promise<string> {
  // Bookings carry the time at which their transaction began, and other transactions may have been open for long. The minute
  // allows for clocks that are set back.
  const found = await pool.query<{ since: string }>(
    `SELECT (least(min(xact_start), now()) - interval '1 minute')::text AS since FROM pg_stat_activity
     WHERE datname = current_database()`,
  )
  return found.rows[0]?.since ?? '-infinity'
}

/**
 * Reads the mark that the last clean audit left.
 * @param key that has to have signed it; undefined where nothing is signed
 * @returns the mark, or why no mark can be used
 */
export async function readMark(
  client: Client,
  key: NoteKey | undefined,
  limits: AuditLimits,
): Promise<{ mark?: AuditMark; refused?: string }> {
  const found = await client.query<{ note: string }>('SELECT note FROM audit_mark')
  const note = found.rows[0]?.note
  if (note === undefined) return { refused: 'there is none' }
  const text = key === undefined ? note : openNote(note, signerOf(key).verifier())
  if (text === undefined) return { refused: 'it is not signed with the key of the logs' }
  const mark = markIn(text)
  if (mark === undefined)
    return { refused: key === undefined ? 'it is signed with a key that is not set' : 'it is of another version' }
  if (mark.sums !== (await digestSums(client, limits)))
    return { refused: 'the sums kept with it are not those it names' }
  if (await hasArchivedSince(client, mark))
    return { refused: 'receipts behind it were put away before they were checked' }
  return { mark }
}

/** Stores a mark of how far was checked, in the caller's transaction. */
export async function writeMark(
  client: Client,
  key: NoteKey | undefined,
  before: AuditMark | undefined,
  since: string,
  limits: AuditLimits,
): Promise<void> {
  await keepSums(client, before !== undefined)
  const archives = await client.query<{ month: string }>('SELECT month FROM receipt_archives ORDER BY month')
  const mark: AuditMark = {
    format: FORMAT,
    at: new Date().toISOString(),
    since,
    logs: await checkedLogs(client, before),
    cursors: await readCursors(client),
    archives: archives.rows.map(({ month }) => month),
    sums: await digestSums(client, limits),
  }
  const text = `${JSON.stringify(mark)}\n`
  await client.query('INSERT INTO audit_mark (note) VALUES ($1) ON CONFLICT (one) DO UPDATE SET note = excluded.note', [
    key === undefined ? text : signerOf(key).sign(text),
  ])
}

/** Marks are signed under their own name, so that none can pass for a checkpoint. */
function signerOf(key: NoteKey): NoteKey {
  return key.named(`${key.name}/audit`)
}

function markIn(text: string): AuditMark | undefined {
  try {
    const mark = JSON.parse(text) as AuditMark
    return mark.format === FORMAT ? mark : undefined
  } catch {
    return undefined
  }
}

async function checkedLogs(client: Client, before: AuditMark | undefined): Promise<CheckedLog[]> {
  const found = await client.query<CheckedLog>(
    `SELECT h.size, encode(h.peaks, 'hex') AS peaks, coalesce(s.size, 0) AS signed FROM usage_log_heads h
     LEFT JOIN LATERAL (SELECT size FROM log_heads WHERE log = h.log ORDER BY size DESC LIMIT 1) s ON true ORDER BY h.log`,
  )
  return found.rows.map((row, log) => ({ ...row, signed: Math.max(row.signed, before?.logs[log]?.signed ?? 0) }))
}

async function hasArchivedSince(client: Client, { logs, cursors }: AuditMark): Promise<boolean> {
  const found = await client.query<{ log: number; until: number }>(
    `SELECT l.log, a.position + length(a.hashes) / 32 AS until FROM generate_series(0, ${LOG_COUNT - 1}) AS l (log)
     CROSS JOIN LATERAL (SELECT position, hashes FROM archived_leaves WHERE log = l.log ORDER BY position DESC LIMIT 1) a`,
  )
  return found.rows.some(({ log, until }) => until > Math.min(logs[log]?.size ?? 0, cursors[log] ?? 0))
}
