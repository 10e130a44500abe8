import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import type { Sheet } from '../../catalog/pricedItem.ts'

/** A public price sheet, read. */
export interface SheetDocument {
  readonly version: unknown
  readonly rateLock: unknown
  /** The models in the order of the sheet, by their ids. */
  readonly models: ReadonlyMap<string, JsonObject>
}

const documents = new WeakMap<Sheet, SheetDocument>()

/** Reads a sheet once for as long as it is in use. */
export function sheetDocument(sheet: Sheet): SheetDocument {
  const known = documents.get(sheet)
  if (known !== undefined) return known
  const { version, rate_lock: rateLock, models } = parseJsonObject(sheet.json.toString('utf8')) ?? {}
  const listed = (Array.isArray(models) ? (models as unknown[]) : []).filter(isJsonObject)
  const document = { version, rateLock, models: new Map(listed.map((model) => [String(model['id']), model])) }
  documents.set(sheet, document)
  return document
}
