import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Sheet, SheetModel, SheetTool } from '../pricing/sheet.ts'
import type { SignerKeys } from './catalogKey.ts'
import { CATALOG_LAYOUT, sha256Hex, sheetDigest, withoutPromise } from './statements.ts'

/** A sheet that is bound into a catalog. */
export interface BoundSheet {
  readonly version: number
  readonly text: string
}

/** The content of a catalog, independent of its signer and of the time of signing. */
export interface CatalogContent {
  readonly sheetVersion: number
  /** SHA-256 in hex; catalogs of one hash differ in their versions and dates alone. */
  readonly hash: string
  readonly members: Readonly<Record<string, unknown>>
  readonly rateLock: Sheet['rate_lock']
}

/** The place of a catalog among the signed ones. Times are milliseconds since 1970. */
export interface CatalogPlace {
  readonly version: number
  /** Undefined for the first. */
  readonly previous: { readonly version: number; readonly digest: string } | undefined
  readonly signer: SignerKeys
  readonly validFromMs: number
  readonly validUntilMs: number
  /** Sheets since the catalog before that no catalog of their own was signed for. */
  readonly earlierSheets: readonly BoundSheet[]
}

/**
 * The public content of the record in force. It consists of the price sheet, which shows no private data of the operator, and
 * of the routes that are disabled by hand.
 */
export function catalogContent(encoded: Uint8Array): CatalogContent {
  const record = sluice.CatalogRecord.decode(encoded)
  const text = Buffer.from(record.sheetJson ?? []).toString('utf8')
  const { coin, models, tools, rate_lock: rateLock } = JSON.parse(text) as Sheet
  const members = {
    coin,
    models: models.map((model, place) => modelJson(model, record.models?.[place])),
    tools: (tools ?? []).map((tool, place) => toolJson(tool, record.tools?.[place])),
    price_sheet: {
      version: String(record.version),
      sha256: sheetDigest(text),
      published_at: new Date(record.publishedAtMs ?? 0).toISOString(),
    },
  }
  const { valid_until: _, ...lock } = rateLock
  const hash = sha256Hex(canonicalJson({ ...members, lock }))
  return { sheetVersion: record.version ?? 0, hash, members, rateLock }
}

/** Sheet and record are written from one catalog, in its order. */
function modelJson(model: SheetModel, record: sluice.ModelRecord.$Properties | undefined) {
  const routes = model.routes.map((route, place) => ({
    ...route,
    enabled: route.enabled && record?.routes?.[place]?.switchedOff !== true,
  }))
  return {
    ...withoutPromise(model),
    attested: model.attested === true,
    available: model.available && routes.some(({ enabled }) => enabled),
    routes,
  }
}

function toolJson(tool: SheetTool, record: sluice.ToolRecord.$Properties | undefined) {
  return { ...withoutPromise(tool), data_policy: record?.retained === true ? 'retained' : 'none' }
}

/** A signed catalog's text: canonical JSON (RFC 8785); its hash is of its UTF-8 bytes. */
export function catalogText({ members, rateLock }: CatalogContent, place: CatalogPlace): string {
  const { previous, earlierSheets } = place
  return canonicalJson({
    object: 'catalog',
    layout: CATALOG_LAYOUT,
    version: String(place.version),
    previous: previous === undefined ? null : { version: String(previous.version), sha256: previous.digest },
    valid_from: new Date(place.validFromMs).toISOString(),
    valid_until: new Date(place.validUntilMs).toISOString(),
    signer: place.signer,
    rate_lock: rateLock,
    earlier_price_sheets: earlierSheets.map(({ version, text }) => ({
      version: String(version),
      sha256: sheetDigest(text),
    })),
    ...members,
  })
}
