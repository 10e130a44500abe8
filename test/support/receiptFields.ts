import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../control/launch/paths.ts'

/** The part of a row of control/book/receipt/fields.mjs that tests read. */
export interface ReceiptField {
  readonly name: string
  readonly type: string
  readonly proto?: string
  readonly from?: string
  readonly leaf?: number
}

interface Table {
  readonly LEAF_LAYOUTS: readonly number[]
  readonly RECEIPT_FIELDS: readonly ReceiptField[]
}

const table: Table = await import(pathToFileURL(join(projectRoot, 'control/book/receipt/fields.mjs')).href)
export const { LEAF_LAYOUTS, RECEIPT_FIELDS } = table

/** cache_write_5m_tokens of cacheWrite5mTokens. */
export function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]|\d+[a-z]/g, (part) => `_${part.toLowerCase()}`)
}
