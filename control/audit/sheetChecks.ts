import { publishedContentHash } from '../catalog/pricing/sheet.ts'
import { sheetDigest } from '../catalog/signing/statements.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'

interface SheetRow {
  readonly version: number
  readonly content_hash: string
  readonly sheet: string
}

interface Bound {
  readonly version: string
  readonly sha256: string
}

/** Price sheets are as they were published: by their own hashes, and by the signed catalogs that bind them. */
export async function checkSheets(client: Client): Promise<AuditCheck[]> {
  const faults = new Faults()
  const { rows: sheets } = await client.query<SheetRow>(
    'SELECT version, content_hash, sheet FROM price_sheets ORDER BY version',
  )
  const digests = new Map(sheets.map(({ version, sheet }) => [String(version), ofSheet(sheetDigest, sheet)]))
  for (const [place, { version, content_hash: hash, sheet }] of sheets.entries()) {
    if (version !== place + 1) faults.add(`price sheet ${place + 1} is missing before ${version}`)
    if (hash !== '' && hash !== ofSheet(publishedContentHash, sheet))
      faults.add(`price sheet ${version} is not of its hash`)
  }
  for (const { version, sha256 } of await boundSheets(client)) {
    if (digests.get(version) !== sha256) faults.add(`price sheet ${version} is not the one that a signed catalog binds`)
  }
  const records = await client.query<{ version: number }>(
    `SELECT DISTINCT sheet_version AS version FROM catalog_records r
     WHERE NOT EXISTS (SELECT FROM price_sheets s WHERE s.version = r.sheet_version)`,
  )
  for (const { version } of records.rows) faults.add(`price sheet ${version} was published and is missing`)
  return [faults.check('price sheets are as they were published', `${sheets.length} sheets`)]
}

async function boundSheets(client: Client): Promise<Bound[]> {
  const found = await client.query<{ bound: Bound | null }>(
    `SELECT catalog::json -> 'price_sheet' AS bound FROM signed_catalogs
     UNION ALL
     SELECT json_array_elements(catalog::json -> 'earlier_price_sheets') FROM signed_catalogs`,
  )
  return found.rows.flatMap(({ bound }) => (bound === null ? [] : [bound]))
}

/** The value that is computed of a sheet; undefined for a text that is no sheet. */
function ofSheet(compute: (text: string) => string, text: string): string | undefined {
  try {
    return compute(text)
  } catch {
    return undefined
  }
}
