import { type Client, type Pool, type Queryable, withTransaction } from '../db/pool.ts'
import type { Catalog } from './catalogFile.ts'
import { promiseViolations, violationText } from './promise.ts'
import { lockPublication } from './publicationLock.ts'
import { encodeRecord } from './record.ts'
import { routeSwitches } from './routeSwitches.ts'
import { buildSheet, promiseEndMs, sheetContentHash } from './sheet.ts'
import {
  currentRecord,
  insertRecord,
  insertSheet,
  latestSheet,
  noteModels,
  promisedSheets,
  type StoredSheet,
} from './sheetStore.ts'
import { CatalogError } from './yamlReader.ts'

export interface Published {
  readonly version: number
  /** Whether this made a new version of the price sheet. */
  readonly isNewSheet: boolean
  /** Whether the proxies work by something else than before, prices or routes. */
  readonly isNewRecord: boolean
  readonly record: Buffer
}

/**
 * Puts a catalog in force in the book. A changed sheet becomes the next version; a change that the sheet does not show
 * (an address, a provider's own model name) keeps the version and only replaces the record.
 * @param nowMs milliseconds since 1970
 * @throws CatalogError with a line per price that would rise inside the 30 days it is promised for
 */
export async function publishCatalog(pool: Pool, catalog: Catalog, nowMs: number = Date.now()): Promise<Published> {
  return withTransaction(pool, async (client) => {
    await lockPublication(client)
    const latest = await latestSheet(client)
    const isNewSheet = latest?.contentHash !== sheetContentHash(catalog)
    const sheet =
      latest && !isNewSheet ? latest : await publishSheet(client, catalog, (latest?.version ?? 0) + 1, nowMs)
    const ids = catalog.models.map((model) => model.id)
    const listedAtMs = await noteModels(client, ids, nowMs)
    const switches = await routeSwitches(client)
    const record = encodeRecord(catalog, { ...sheet, sheetJson: sheet.text, listedAtMs }, switches)
    const isNewRecord = (await currentRecord(client))?.equals(record) !== true
    if (isNewRecord) await insertRecord(client, sheet.version, record, nowMs)
    return { version: sheet.version, isNewSheet, isNewRecord, record }
  })
}

async function publishSheet(client: Client, catalog: Catalog, version: number, nowMs: number): Promise<StoredSheet> {
  await refuseBrokenPromises(client, catalog, nowMs)
  const validUntilMs = promiseEndMs(nowMs)
  const sheet: StoredSheet = {
    version,
    publishedAtMs: nowMs,
    validUntilMs,
    contentHash: sheetContentHash(catalog),
    text: JSON.stringify(buildSheet(catalog, version, validUntilMs)),
  }
  await insertSheet(client, sheet)
  return sheet
}

/** @throws CatalogError when a price would rise above one that a published sheet still promises */
export async function refuseBrokenPromises(db: Queryable, catalog: Catalog, nowMs: number = Date.now()): Promise<void> {
  const violations = promiseViolations(catalog, await promisedSheets(db, nowMs))
  if (violations.length > 0) throw new CatalogError(violations.map(violationText))
}
