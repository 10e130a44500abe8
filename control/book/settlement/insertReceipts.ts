import { CopyRows, copyRows } from '../../runtime/db/copy.ts'
import type { Client } from '../../runtime/db/pool.ts'
import {
  type Place,
  putReceipt,
  RECEIPT_COLUMN_COUNT,
  RECEIPT_COLUMNS,
  type Receipt,
} from '../receipt/generated/receipt.ts'

/** The usual maximum of a row. */
const EXPECTED_BYTES = 640

/**
 * Writes receipts in one statement.
 * @param places those of the receipts, in their order
 * @throws the database error 23505 when one is there already
 */
export async function insertReceipts(
  client: Client,
  places: readonly Place[],
  receipts: readonly Receipt[],
): Promise<void> {
  if (receipts.length === 0) return
  const rows = new CopyRows(RECEIPT_COLUMN_COUNT, receipts.length * EXPECTED_BYTES)
  for (const [i, receipt] of receipts.entries()) {
    const place = places[i]
    if (place === undefined) throw new Error(`receipt ${receipt.requestId} has no place`)
    putReceipt(rows, place, receipt)
  }
  await copyRows(client, `receipts (${RECEIPT_COLUMNS})`, rows)
}
