import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { RECEIPT_COLUMNS } from '../../book/receipt/generated/receipt.ts'
import { OUTCOME } from '../../book/usage/receiptSums.ts'
import { STRETCH_RECEIPTS, type Stretch, stretchArrays } from '../../book/usagelog/stretches.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { csvCell } from '../csvCell.ts'
import type { RecordsLimits } from '../limits.ts'
import type { ExportFile, ExportForm } from './exportFile.ts'

type Row = Readonly<Record<string, string | number | boolean>>

/** Columns in the order in which they are written, and how each is read. */
type Columns = ReadonlyMap<string, string>

/** All columns of the book but the salts, which would let whoever reads an export prove the tags of a receipt to others. */
const RECEIPTS: Columns = new Map(
  RECEIPT_COLUMNS.split(', ')
    .filter((name) => name !== 'tags_salt')
    .map((name) => [name, name === 'leaf_hash' ? `encode(leaf_hash, 'hex')` : name]),
)

const USAGE_KEYS: Columns = new Map([
  ['hour', `to_char(to_timestamp(held_at_ms / 3600000 * 3600) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":00:00Z"')`],
  ...['account_id', 'key_id', 'end_user', 'tags', 'model', 'provider'].map((name) => [name, name] as const),
  ['outcome', OUTCOME],
])
const SUMMED =
  'charge_units,input_tokens,cached_input_tokens,cache_write_5m_tokens,cache_write_1h_tokens,output_tokens,reasoning_tokens'
const USAGE_SUMS: Columns = new Map([
  ['requests', 'count(*)'],
  ...SUMMED.split(',').map((name) => [name, `sum(${name})::bigint`] as const),
])
const USAGE: Columns = new Map([...USAGE_KEYS, ...USAGE_SUMS])

const selected = (columns: Columns): string => Array.from(columns, ([name, sql]) => `${sql} AS ${name}`).join(', ')

const PAGE = `
  SELECT ${selected(RECEIPTS)} FROM receipts WHERE log = $1 AND position >= $2 AND position < $3
  ORDER BY position LIMIT $4`

const SUMS = `
  SELECT ${selected(USAGE)}
  FROM ${STRETCH_RECEIPTS} AS r
  GROUP BY ${Array.from(USAGE_KEYS, (_, i) => i + 1).join(', ')} ORDER BY ${Array.from(USAGE_KEYS, (_, i) => i + 1).join(', ')}`

/** The two texts of a file, compressed by gzip, and the sums of its receipts. */
export interface ExportTexts {
  readonly receipts: Buffer
  readonly usage: Buffer
  readonly sums: { readonly receipts: number; readonly chargeUnits: bigint }
}

/** Reads the receipts of a planned file: the same bytes whenever they are read. */
export async function exportTexts(pool: Pool, file: ExportFile, limits: RecordsLimits): Promise<ExportTexts> {
  const sums = { receipts: 0, chargeUnits: 0n }
  const pages = async function* (): AsyncGenerator<Row[]> {
    for (const stretch of file.stretches) {
      for await (const page of pagesOf(pool, stretch, limits)) {
        sums.receipts += page.length
        for (const row of page) sums.chargeUnits += BigInt(Number(row['charge_units']))
        yield page
      }
    }
  }
  const receipts = await compressed(file.form, RECEIPTS, pages())
  const used = await pool.query<Row>(SUMS, stretchArrays(file.stretches))
  return { receipts, usage: await compressed(file.form, USAGE, [used.rows]), sums }
}

async function* pagesOf(pool: Pool, { log, from, to }: Stretch, limits: RecordsLimits): AsyncGenerator<Row[]> {
  for (let next = from; next < to; ) {
    const { rows } = await pool.query<Row>(PAGE, [log, next, to, limits.archivePageMax])
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    next = Number(last['position']) + 1
  }
}

function compressed(
  form: ExportForm,
  columns: Columns,
  pages: AsyncIterable<Row[]> | Iterable<Row[]>,
): Promise<Buffer> {
  const names = [...columns.keys()]
  const texts = async function* (): AsyncGenerator<string> {
    if (form === 'csv') yield `${names.join()}\r\n`
    for await (const rows of pages) yield rows.map((row) => lineOf(form, names, row)).join('')
  }
  return buffer(Readable.from(texts()).pipe(createGzip()))
}

function lineOf(form: ExportForm, names: readonly string[], row: Row): string {
  return form === 'csv' ? `${names.map((name) => csvCell(row[name] ?? '')).join()}\r\n` : `${JSON.stringify(row)}\n`
}
