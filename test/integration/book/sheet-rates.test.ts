// Goal: the audit finds exactly the receipts that were charged more than their price sheet says, however many tokens they have and
// whatever these cost. Method: receipts at the bounds of each arithmetic, charged one unit more and no more; bigints of JavaScript.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSheetRates, EXCEEDS_DUE, ratedBy } from '../../../control/audit/sheetRates.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { type Book, startBook } from '../../support/parts/ledger.ts'

const MILLION = 1_000_000n
const NANOS = 1_000_000_000n
/** Dollars per million tokens: 549 is below the largest rate of bigint arithmetic, 550 above it. */
const DOLLARS = [0, 1, 549, 550, 100_000]
const TOKENS = [0, 1, 999_999, 2 ** 21 - 1, 2 ** 21, 2 ** 40]

let book: Book
before(async () => {
  book = await startBook()
  const models = DOLLARS.map((dollars) => ({
    id: `acme/${dollars}`,
    price: { input: String(dollars), cached_input: String(dollars), output: String(dollars) },
  }))
  await book.pool.query(
    `INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet)
     VALUES (1, now(), now() + interval '1 day', '', $1)`,
    [JSON.stringify({ coin: { usd: '1' }, models })],
  )
})
after(() => book.stop())

/** Which charges are said to exceed the price of so many tokens of input and of output. */
function exceeding(dollars: number, tokens: number, charges: readonly bigint[]): Promise<boolean[]> {
  return withTransaction(book.pool, async (client) => {
    await createSheetRates(client)
    const { rows } = await client.query<{ exceeds: boolean | null }>(
      `SELECT ${EXCEEDS_DUE} AS exceeds FROM (
         SELECT charge AS charge_units, place, 1 AS sheet_version, $2 AS model, 'chat' AS endpoint, 0::bigint AS quantity,
           $3::bigint AS input_tokens, 0::bigint AS cached_input_tokens, 0::bigint AS cache_write_5m_tokens,
           0::bigint AS cache_write_1h_tokens, $3::bigint AS output_tokens
         FROM unnest($1::bigint[]) WITH ORDINALITY AS c (charge, place)
       ) AS r LEFT JOIN ${ratedBy('r')} ORDER BY r.place`,
      [`{${charges.join(',')}}`, `acme/${dollars}`, tokens],
    )
    return rows.map(({ exceeds }) => exceeds ?? assert.fail('no rate was found'))
  })
}

for (const dollars of DOLLARS) {
  test(`a receipt exceeds ${dollars} dollars a million tokens from one unit on`, async () => {
    for (const tokens of TOKENS) {
      const due = (2n * BigInt(tokens) * BigInt(dollars) * NANOS + MILLION - 1n) / MILLION
      if (due >= 2n ** 63n) continue
      const charges = [due - 1n, due, due + 1n].filter((charge) => charge >= 0n)
      const expected = charges.map((charge) => charge > due)
      assert.deepEqual(await exceeding(dollars, tokens, charges), expected, `${tokens} tokens`)
    }
  })
}
