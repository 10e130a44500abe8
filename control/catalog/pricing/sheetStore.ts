import { camelColumns, msColumns } from '../../runtime/db/columns.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { noteUnavailable } from './seriesPromise.ts'
import { type Sheet, withPromiseEnd } from './sheet.ts'

/** A published sheet of the book. Times are milliseconds since 1970. */
export interface StoredSheet {
  readonly version: number
  readonly publishedAtMs: number
  /** The end of its promise, by the last renewal. */
  readonly validUntilMs: number
  readonly contentHash: string
  /** As it was published, with the end of its promise. */
  readonly text: string
}

type SheetRow = StoredSheet & { readonly isRenewed: boolean }

/** Sheets with the end that their promise has now. */
const SHEETS = `
  (SELECT s.version, s.published_at, s.content_hash, s.sheet, greatest(s.valid_until, p.valid_until) AS valid_until,
     p.valid_until IS NOT NULL AS is_renewed
   FROM price_sheets s LEFT JOIN LATERAL
     (SELECT max(valid_until) AS valid_until FROM price_promises WHERE sheet_version = s.version) p ON true) AS sheets`
const TIMES = msColumns('published_at, valid_until')
const COLUMNS = `${camelColumns('version, is_renewed, content_hash')}, sheet AS text, ${TIMES}`

function stored({ isRenewed, ...sheet }: SheetRow): StoredSheet {
  return isRenewed ? { ...sheet, text: withPromiseEnd(sheet.text, sheet.validUntilMs) } : sheet
}

/** The newest sheet, or undefined before the first publication. */
export async function latestSheet(db: Queryable): Promise<StoredSheet | undefined> {
  const found = await db.query<SheetRow>(`SELECT ${COLUMNS} FROM ${SHEETS} ORDER BY version DESC LIMIT 1`)
  return found.rows[0] && stored(found.rows[0])
}

/** One sheet, or undefined. */
export async function sheetOf(db: Queryable, version: number): Promise<StoredSheet | undefined> {
  const found = await db.query<SheetRow>(`SELECT ${COLUMNS} FROM ${SHEETS} WHERE version = $1`, [version])
  return found.rows[0] && stored(found.rows[0])
}

/** Every version ever published, newest first, without the prices. */
export async function listSheets(db: Queryable): Promise<Array<Omit<StoredSheet, 'text' | 'contentHash'>>> {
  const found = await db.query<Omit<StoredSheet, 'text' | 'contentHash'>>(
    `SELECT version, ${TIMES} FROM ${SHEETS} ORDER BY version DESC`,
  )
  return found.rows
}

/** The sheets that still promise their prices, in the order of their versions. @param nowMs milliseconds since 1970 */
export async function promisedSheets(db: Queryable, nowMs: number): Promise<Sheet[]> {
  const found = await db.query<SheetRow>(`SELECT ${COLUMNS} FROM ${SHEETS} WHERE valid_until > $1 ORDER BY version`, [
    new Date(nowMs),
  ])
  return found.rows.map((row) => JSON.parse(stored(row).text) as Sheet)
}

export async function insertSheet(db: Queryable, sheet: StoredSheet): Promise<void> {
  const columns = 'version, published_at, valid_until, content_hash, sheet'
  await db.query(`INSERT INTO price_sheets (${columns}) VALUES ($1, $2, $3, $4, $5)`, [
    sheet.version,
    new Date(sheet.publishedAtMs),
    new Date(sheet.validUntilMs),
    sheet.contentHash,
    sheet.text,
  ])
}

/** Moves the end of a sheet's promise. Times are milliseconds since 1970. */
export async function insertRenewal(
  db: Queryable,
  version: number,
  validUntilMs: number,
  nowMs: number,
): Promise<void> {
  await db.query('INSERT INTO price_promises (sheet_version, valid_until, renewed_at) VALUES ($1, $2, $3)', [
    version,
    new Date(validUntilMs),
    new Date(nowMs),
  ])
}

/** Notes models that are on a sheet for the first time. @returns when each was first listed */
export async function noteModels(db: Queryable, ids: readonly string[], nowMs: number): Promise<Map<string, number>> {
  await db.query(
    'INSERT INTO catalog_models (id, listed_at) SELECT id, $2 FROM unnest($1::text[]) AS id ON CONFLICT DO NOTHING',
    [ids, new Date(nowMs)],
  )
  const found = await db.query<{ id: string; listed_at: Date }>(
    'SELECT id, listed_at FROM catalog_models WHERE id = ANY($1)',
    [ids],
  )
  return new Map(found.rows.map((row) => [row.id, row.listed_at.getTime()]))
}

/** The CatalogRecord in force, encoded, or undefined before the first publication. */
export async function currentRecord(db: Queryable): Promise<Buffer | undefined> {
  const found = await db.query<{ record: Buffer }>({
    name: 'catalog_in_force',
    text: 'SELECT record FROM catalog_records ORDER BY id DESC LIMIT 1',
  })
  return found.rows[0]?.record
}

/** Puts a record in force, by which series of compute locks can be served from now on or not. */
export async function insertRecord(db: Queryable, version: number, record: Buffer, nowMs: number): Promise<void> {
  await db.query('INSERT INTO catalog_records (sheet_version, published_at, record) VALUES ($1, $2, $3)', [
    version,
    new Date(nowMs),
    record,
  ])
  await noteUnavailable(db, record)
}
