import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import type { Sheet } from '../pricing/sheet.ts'
import type { SignerKeys } from './catalogKey.ts'

// The texts that are signed. Their first line names their type, so that none can be mistaken for another.

/** The layout of the catalog, and the first line of its statement. */
export const CATALOG_LAYOUT = 'sluice-catalog/1'
const SIGNER_LAYOUT = 'sluice-catalog-signer/1'

/** The text that a catalog's signatures cover. @param digest SHA-256 of the catalog's bytes, in hex */
export function catalogStatement(version: number, digest: string): string {
  return [CATALOG_LAYOUT, version, digest].join('\n')
}

/** A signer's place in the sequence of signers. */
export interface SignerPlace {
  readonly number: number
  readonly keys: SignerKeys
  /** The first version of the catalog that it signs. */
  readonly fromVersion: number
  /** Of the catalog before that version; '' for none. */
  readonly previousDigest: string
}

/** The statement that names a signer, signed by itself and by the one before. */
export function signerStatement({ number, keys, fromVersion, previousDigest }: SignerPlace): string {
  return [SIGNER_LAYOUT, number, keys.address, keys.ed25519, fromVersion, previousDigest].join('\n')
}

/** SHA-256 of a text's UTF-8 bytes, in hex. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

/**
 * The hash by which catalogs name a price sheet: SHA-256 of its canonical JSON without the ends of its promise, which
 * move on while the sheet is in force.
 */
export function sheetDigest(text: string): string {
  const sheet = JSON.parse(text) as Sheet
  const { valid_until: _, ...lock } = sheet.rate_lock
  const bare = {
    ...sheet,
    rate_lock: lock,
    models: sheet.models.map(withoutPromise),
    tools: sheet.tools?.map(withoutPromise),
  }
  return sha256Hex(canonicalJson(bare))
}

/** A sold item without the end of its promise. */
export function withoutPromise<Sold extends { rate_locked_until: string }>(
  sold: Sold,
): Omit<Sold, 'rate_locked_until'> {
  const { rate_locked_until: _, ...rest } = sold
  return rest
}
