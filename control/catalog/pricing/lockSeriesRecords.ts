import { sluice } from '../../../contract/wire/generated/messages.js'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import { type Pool, type Queryable, withTransaction } from '../../runtime/db/pool.ts'
import { type PriceJson, priceFromJson } from './price.ts'
import { ratesRecord } from './record.ts'
import { currentRecord, insertRecord } from './sheetStore.ts'

interface SeriesRow {
  readonly id: string
  readonly model: string
  readonly provider: string
  readonly ends_at_ms: number
  readonly locked_price_units: number
  readonly price: PriceJson
}

/** The series of compute locks that have not ended, as the proxies get them. @param nowMs milliseconds since 1970 */
export async function lockSeriesRecords(db: Queryable, nowMs: number): Promise<sluice.LockSeriesRecord.$Properties[]> {
  const found = await db.query<SeriesRow>(
    `SELECT id, model, provider, ends_at_ms, locked_price_units, price FROM lock_series
     WHERE state = 'open' AND ends_at_ms > $1 ORDER BY id`,
    [nowMs],
  )
  return found.rows.map((row) => ({
    id: row.id,
    model: row.model,
    provider: row.provider,
    endsAtMs: row.ends_at_ms,
    tokenUnits: row.locked_price_units,
    price: ratesRecord(priceFromJson(row.price), ''),
  }))
}

/**
 * Puts the series that have not ended into the catalog record of the book, where it has other ones.
 * @param nowMs milliseconds since 1970
 * @returns the new record; undefined where nothing has changed
 */
export async function publishLockSeries(
  pool: Pool,
  nowMs: number,
): Promise<{ version: number; series: number; record: Buffer } | undefined> {
  if ((await withOwnSeries(pool, nowMs)) === undefined) return undefined
  return withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'publication')
    const changed = await withOwnSeries(client, nowMs)
    if (changed !== undefined) await insertRecord(client, changed.version, changed.record, nowMs)
    return changed
  })
}

async function withOwnSeries(db: Queryable, nowMs: number) {
  const before = await currentRecord(db)
  if (before === undefined) return undefined
  const record = sluice.CatalogRecord.decode(before)
  record.lockSeries = (await lockSeriesRecords(db, nowMs)).map((one) => sluice.LockSeriesRecord.create(one))
  const after = Buffer.from(sluice.CatalogRecord.encode(record).finish())
  if (after.equals(before)) return undefined
  return { version: record.version, series: record.lockSeries.length, record: after }
}
