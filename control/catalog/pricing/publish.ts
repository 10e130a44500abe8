import { formatUsd } from '../../../contract/money/units.ts'
import { GATEWAY_WIDE, OPERATOR, recordActivity } from '../../runtime/activity/activity.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import { type Client, type Pool, type Queryable, withTransaction } from '../../runtime/db/pool.ts'
import { FileError } from '../../runtime/files/yamlFile.ts'
import type { CatalogLimits } from '../limits.ts'
import type { Catalog } from './catalogFile.ts'
import { noteCatalogFile } from './catalogFiles.ts'
import { lockSeriesRecords } from './lockSeriesRecords.ts'
import { coinViolation, promiseViolations } from './promise.ts'
import { violationText } from './promiseViolation.ts'
import { encodeRecord } from './record.ts'
import { routeSwitches } from './routeSwitches.ts'
import { type BrokenSeries, breakSeries, brokenSeries, noteUnavailable } from './seriesPromise.ts'
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
import type { SignCatalog, Signing } from './signing.ts'
import { standingReports } from './standingReports.ts'

/** A catalog that breaks the promise of a published sheet or of a compute lock; a line for each, with file, line and reason. */
export class PromiseError extends FileError {}

export interface Published {
  readonly version: number
  /** Whether this made a new version of the price sheet. */
  readonly isNewSheet: boolean
  /** Whether prices or routes have changed for the proxies. */
  readonly isNewRecord: boolean
  readonly record: Buffer
  /** Undefined where nothing is signed. */
  readonly signing: Signing | undefined
}

/** The options of a publication. */
export interface PublishOptions {
  /** Why the value of the coin may change although it is promised; goes into the audit trail. */
  readonly coinChangeReason?: string | undefined
  /** Why compute locks that the catalog cannot serve may end, although customers have tokens; goes into the audit trail. */
  readonly breakSeriesReason?: string | undefined
  /** Signs the catalog in the same transaction. */
  readonly sign?: SignCatalog | undefined
  /** Whether control publishes the file that it is configured with. */
  readonly isConfigured?: boolean
}

/**
 * Puts a catalog in force in the book. A changed sheet becomes the next version; a change that the sheet does not show
 * (an address, a provider's own model name) keeps the version and only replaces the record.
 * @param nowMs milliseconds since 1970
 * @throws PromiseError with a line per promise that the catalog would break
 */
export async function publishCatalog(
  pool: Pool,
  catalog: Catalog,
  limits: CatalogLimits,
  nowMs: number = Date.now(),
  { coinChangeReason, breakSeriesReason, sign, isConfigured = false }: PublishOptions = {},
): Promise<Published> {
  return withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'publication')
    const broken = await brokenSeries(client, catalog, nowMs, true)
    const refused = breakSeriesReason === undefined ? broken : []
    const latest = await latestSheet(client)
    const isNewSheet = latest?.contentHash !== sheetContentHash(catalog)
    if (latest && !isNewSheet) refuse(textsOf(refused))
    const sheet =
      latest && !isNewSheet
        ? latest
        : await publishSheet(client, catalog, (latest?.version ?? 0) + 1, nowMs, { coinChangeReason, refused })
    if (breakSeriesReason !== undefined) await breakSeries(client, broken, breakSeriesReason)
    const ids = catalog.models.map((model) => model.id)
    const listedAtMs = await noteModels(client, ids, nowMs)
    const switches = await routeSwitches(client, limits)
    const reports = await standingReports(client)
    const publication = { ...sheet, sheetJson: sheet.text, listedAtMs }
    const record = encodeRecord(catalog, publication, switches, reports, await lockSeriesRecords(client, nowMs))
    const isNewRecord = (await currentRecord(client))?.equals(record) !== true
    if (isNewRecord) await insertRecord(client, sheet.version, record, nowMs)
    else await noteUnavailable(client, record)
    await noteCatalogFile(client, catalog.source.digest, isConfigured)
    const signing = await sign?.(client, nowMs)
    return { version: sheet.version, isNewSheet, isNewRecord, record, signing }
  })
}

async function publishSheet(
  client: Client,
  catalog: Catalog,
  version: number,
  nowMs: number,
  { coinChangeReason, refused }: { coinChangeReason: string | undefined; refused: readonly BrokenSeries[] },
): Promise<StoredSheet> {
  const { prices, coin, coinBefore } = await brokenPromises(client, catalog, nowMs)
  const mayChangeCoin = coinChangeReason !== undefined
  refuse([...prices, ...textsOf(refused), ...(mayChangeCoin ? [] : coin)])
  const validUntilMs = promiseEndMs(nowMs)
  const sheet: StoredSheet = {
    version,
    publishedAtMs: nowMs,
    validUntilMs,
    contentHash: sheetContentHash(catalog),
    text: JSON.stringify(buildSheet(catalog, version, validUntilMs)),
  }
  await insertSheet(client, sheet)
  if (mayChangeCoin && coin.length > 0) {
    const details = { from_usd: coinBefore, to_usd: formatUsd(catalog.coinUsdUnits), reason: coinChangeReason }
    const change = { accountId: GATEWAY_WIDE, type: 'coin.repriced', target: `price sheet ${version}`, details }
    await recordActivity(client, OPERATOR, [change])
  }
  return sheet
}

/** @throws PromiseError when a published sheet still promises other prices, or customers have tokens of a model that is not served */
export async function refuseBrokenPromises(db: Queryable, catalog: Catalog, nowMs: number = Date.now()): Promise<void> {
  const { prices, coin } = await brokenPromises(db, catalog, nowMs)
  refuse([...coin, ...prices, ...textsOf(await brokenSeries(db, catalog, nowMs, false))])
}

async function brokenPromises(db: Queryable, catalog: Catalog, nowMs: number) {
  const promised = await promisedSheets(db, nowMs)
  const latest = await latestSheet(db)
  const inForce = promised.find((sheet) => sheet.version === String(latest?.version))
  const coin = coinViolation(catalog, inForce)
  const prices = promiseViolations(catalog, promised).map(violationText)
  return { prices, coin: coin === undefined ? [] : [coin], coinBefore: inForce?.coin.usd }
}

const textsOf = (broken: readonly BrokenSeries[]): string[] => broken.map(({ text }) => text)

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new PromiseError(problems)
}
