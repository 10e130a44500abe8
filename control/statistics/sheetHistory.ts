import { DAY_MS } from '../../contract/api/time.ts'
import type { RateSet } from '../../contract/money/charge.ts'
import { effectiveRates, priceFromJson } from '../catalog/pricing/price.ts'
import type { Sheet } from '../catalog/pricing/sheet.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/** The list prices of a published sheet. */
export interface SheetPrices {
  readonly version: number
  /** On which it was published, in days since 1970 (UTC). */
  readonly day: number
  /** By model: the standard rates of short prompts. Models that are not priced by the token are left out. */
  readonly rates: ReadonlyMap<string, RateSet>
}

/** Reads the next sheets after a version, at most `most`, in the order of their versions. */
export async function readSheetPrices(db: Queryable, after: number, most: number): Promise<SheetPrices[]> {
  const { rows } = await db.query<{ version: number; published_at: Date; sheet: string }>(
    'SELECT version, published_at, sheet FROM price_sheets WHERE version > $1 ORDER BY version LIMIT $2',
    [after, most],
  )
  return rows.map(({ version, published_at: publishedAt, sheet }) => {
    const day = Math.floor(publishedAt.getTime() / DAY_MS)
    return { version, day, rates: ratesOf(JSON.parse(sheet) as Sheet) }
  })
}

function ratesOf({ models }: Sheet): Map<string, RateSet> {
  const rates = new Map<string, RateSet>()
  for (const { id, price } of models) {
    const found = effectiveRates(priceFromJson(price), '', 0)
    if (found !== undefined) rates.set(id, found)
  }
  return rates
}
