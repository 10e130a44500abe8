// Goal: the text of a leaf that the database puts together is the one that was hashed when the receipt was booked.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { LEAF_TEXT_SQL, type LoggedReceipt, leafText } from '../../../control/book/receipt/generated/receipt.ts'
import { type Book, startBook } from '../../support/parts/ledger.ts'
import { columnOf, RECEIPT_FIELDS } from '../../support/receiptFields.ts'

let book: Book
before(async () => {
  book = await startBook()
})
after(() => book.stop())

/** What settlement lets through, which refuses control characters. */
const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map((value) => value.replaceAll(/\p{Cc}/gu, ''))
const amount = fc.maxSafeNat()
const integer = fc.nat(2_147_483_647)

const receipt = fc.record<LoggedReceipt>({
  leafLayout: fc.constantFrom(1, 2, 3, 4),
  requestId: text,
  status: fc.constantFrom('ok', 'partial', 'failed', 'cut', 'orphaned'),
  model: text,
  endpoint: text,
  sheetVersion: integer,
  chargeUnits: amount,
  inputTokens: amount,
  cachedInputTokens: amount,
  cacheWrite5mTokens: amount,
  cacheWrite1hTokens: amount,
  outputTokens: amount,
  reasoningTokens: amount,
  quantity: amount,
  unit: text,
  usageSource: fc.constantFrom('none', 'reported', 'estimated'),
  heldAtMs: amount,
  rate: fc.constantFrom('', 'standard', 'batch'),
  tier: fc.constantFrom('', 'standard', 'private'),
  size: text,
  holdUnits: amount,
  clamped: fc.boolean(),
  streamed: fc.boolean(),
  durationMs: integer,
  errorCode: text,
  lockSeries: text,
  lockUnits: amount,
  tagsHash: text,
})

test('the database reconstructs the text of a leaf exactly as it was hashed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(receipt, { minLength: 1, maxLength: 50 }), async (receipts) => {
      const rows = receipts.map((one) =>
        Object.fromEntries(Object.entries(one).map(([name, value]) => [columnOf(name), value])),
      )
      const found = await book.pool.query<{ text: string }>(
        `SELECT ${LEAF_TEXT_SQL} AS text
         FROM json_array_elements($1) WITH ORDINALITY AS e (entry, place), json_populate_record(NULL::receipts, entry)
         ORDER BY place`,
        [JSON.stringify(rows)],
      )
      assert.deepEqual(
        found.rows.map((row) => row.text),
        receipts.map(leafText),
      )
    }),
    { numRuns: 100 },
  )
})

test('the table of receipt fields has the columns of receipts, each of its type', async () => {
  const found = await book.pool.query<{ column: string; type: string }>(
    `SELECT attname AS column, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = 'receipts'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'booked_at'`,
  )
  const columns = RECEIPT_FIELDS.map(({ name, type }) => ({ column: columnOf(name), type }))
  const byName = (one: { column: string }, other: { column: string }) => one.column.localeCompare(other.column)
  assert.deepEqual(columns.sort(byName), found.rows.sort(byName))
})
