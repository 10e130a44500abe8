import { HOUR_MS } from '../../../contract/api/time.ts'
import { countAlong } from '../../book/usagelog/cursors.ts'
import { type Stretch, stretchArrays } from '../../book/usagelog/stretches.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'

export type ExportForm = 'csv' | 'jsonl'

/** A file that is planned: its receipts do not change any more. */
export interface ExportFile {
  readonly id: number
  /** Such as 2027-01-31T14-1. */
  readonly name: string
  readonly form: ExportForm
  readonly stretches: readonly Stretch[]
}

/**
 * Plans the next file of the hour that has ended: the receipts that were booked since the last file, up to a bound. Every receipt is
 * in exactly one file, even if processes plan concurrently or crash.
 * @returns whether a file may follow
 */
export function planExport(pool: Pool, form: ExportForm, nowMs: number, limits: RecordsLimits): Promise<boolean> {
  const ended = Math.floor(nowMs / HOUR_MS) - 1
  return withTransaction(pool, async (client) => {
    const planned = await client.query<{ hour: number }>('SELECT hour FROM export_progress')
    if ((planned.rows[0]?.hour ?? ended) >= ended) return false
    const isMore = await countAlong(
      client,
      'export_cursors',
      limits.exportReceiptsMax,
      () => Promise.resolve(true),
      async (stretches) => {
        await client.query(
          `INSERT INTO export_files (name, form, logs, firsts, lasts)
           SELECT $1 || '-' || count(*) + 1, $2, $3::smallint[], $4::bigint[], $5::bigint[]
           FROM export_files WHERE name LIKE $1 || '-%'`,
          [new Date(ended * HOUR_MS).toISOString().slice(0, 13), form, ...stretchArrays(stretches)],
        )
      },
    )
    if (!isMore) await client.query('UPDATE export_progress SET hour = $1', [ended])
    return isMore
  })
}

interface FileRow extends Pick<ExportFile, 'id' | 'name' | 'form'> {
  readonly logs: number[]
  readonly firsts: number[]
  readonly lasts: number[]
}

/** The first file that is planned and not written; undefined where all are. */
export async function nextExport(pool: Pool): Promise<ExportFile | undefined> {
  const found = await pool.query<FileRow>(
    `SELECT id, name, form, to_json(logs) AS logs, to_json(firsts) AS firsts, to_json(lasts) AS lasts
     FROM export_files WHERE written_at IS NULL ORDER BY id LIMIT 1`,
  )
  const [row] = found.rows
  if (row === undefined) return undefined
  const { id, name, form, logs, firsts, lasts } = row
  return { id, name, form, stretches: logs.map((log, i) => ({ log, from: firsts[i] ?? 0, to: lasts[i] ?? 0 })) }
}

/** The hour since 1970 that a file of this name ends. */
export const hourOf = (name: string): number => Date.parse(`${name.slice(0, 'YYYY-MM-DDTHH'.length)}:00Z`) / HOUR_MS

/** Notes a failed attempt at storing a file. */
export async function noteFailed(pool: Pool, { id }: ExportFile): Promise<void> {
  await pool.query('UPDATE export_files SET failures = failures + 1 WHERE id = $1', [id])
}

/** Notes that a file is at its destination. */
export async function noteExported(
  pool: Pool,
  { id }: ExportFile,
  sums: { readonly receipts: number; readonly chargeUnits: bigint },
): Promise<void> {
  await pool.query('UPDATE export_files SET written_at = now(), receipts = $2, charge_units = $3 WHERE id = $1', [
    id,
    sums.receipts,
    String(sums.chargeUnits),
  ])
}
