import { isId } from '../../../contract/wire/ids.ts'
import { requireKept } from '../../book/partitions/archives.ts'
import { idBound, idTimeMs, monthStartMs } from '../../book/partitions/idTime.ts'
import { READ_COLUMNS, type ReceiptRow } from '../../book/receipt/generated/receipt.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** The receipts to read, and their account; an empty key means all keys of the account. */
export interface ReceiptQuery {
  readonly accountId: string
  readonly keyId: string
  /** Zero takes a usual page. */
  readonly limit: number
  /** The last request id of the page before, or ''. */
  readonly after: string
}

/** How many months before the first month of a page are read, attempt by attempt; then all months. */
const MONTHS_BACK = [0, 3, 12]
/** Sorts after all ids of requests. */
const LAST = 'req_8'

const OF_KEY = `
  SELECT ${READ_COLUMNS} FROM receipts WHERE key_id = KEY AND request_id < $2 AND request_id >= $3
  ORDER BY request_id DESC LIMIT $4`
const OF_ACCOUNT = `
  SELECT r.* FROM api_keys k, LATERAL (${OF_KEY.replace('KEY', 'k.id')}) r
  WHERE k.account_id = $1 ORDER BY r."requestId" DESC LIMIT $4`

/**
 * Receipts after `after`, newest first, without archived ones; reads as few months as suffice.
 * @throws GatewayError receipt_archived when `after` is archived
 */
export async function receiptPage(db: Queryable, query: ReceiptQuery, limit: number): Promise<ReceiptRow[]> {
  const { accountId, keyId, after } = query
  const text = keyId === '' ? OF_ACCOUNT : OF_KEY.replace('KEY', '$1')
  if (after !== '') await requireKept(db, after, `${after}0`)
  const startMs = isId('req', after) ? idTimeMs(after) : Date.now()
  let below = after === '' ? LAST : after
  const rows: ReceiptRow[] = []
  for (const from of [...MONTHS_BACK.map((months) => idBound(monthStartMs(startMs, -months))), '']) {
    const found = await db.query<ReceiptRow>(text, [keyId || accountId, below, from, limit - rows.length])
    rows.push(...found.rows)
    if (rows.length >= limit) break
    if (from < below) below = from
  }
  return rows
}
