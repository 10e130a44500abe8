import { GatewayError } from '../../../contract/errors/errors.ts'
import { parseUsd } from '../../../contract/money/units.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { Sheet } from './sheet.ts'
import { listSheets, sheetOf } from './sheetStore.ts'

/** GET /v1/pricing/sheets as JSON text: every version ever served, newest first. */
export async function sheetListJson(db: Queryable): Promise<string> {
  const sheets = await listSheets(db)
  const data = sheets.map((sheet) => ({
    object: 'price_sheet',
    version: String(sheet.version),
    published_at: new Date(sheet.publishedAtMs).toISOString(),
    valid_until: new Date(sheet.validUntilMs).toISOString(),
  }))
  return JSON.stringify({ object: 'list', data, has_more: false })
}

/** One sheet as it was published, with the end that its promise has now. @throws GatewayError sheet_not_found */
export async function sheetJson(db: Queryable, version: number): Promise<string> {
  const sheet = await sheetOf(db, version)
  if (sheet === undefined) throw new GatewayError('sheet_not_found')
  return sheet.text
}

/** USD per coin by sheet version; the prices of a published version never change, so it is read once. */
export class CoinPrices {
  private readonly db: Queryable
  private readonly units = new Map<number, number>()

  constructor(db: Queryable) {
    this.db = db
  }

  /** USD per coin in units, as the sheet says. @throws Error when the sheet was never published */
  async ofSheet(version: number): Promise<number> {
    const known = this.units.get(version)
    if (known !== undefined) return known
    const sheet = await sheetOf(this.db, version)
    const units = sheet && parseUsd((JSON.parse(sheet.text) as Sheet).coin.usd)
    if (units === undefined) throw new Error(`price sheet ${version} is not in the book`)
    this.units.set(version, units)
    return units
  }
}
