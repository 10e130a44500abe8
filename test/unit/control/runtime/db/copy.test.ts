import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CopyRows, copyRows } from '../../../../../control/runtime/db/copy.ts'
import { withTransaction } from '../../../../../control/runtime/db/pool.ts'
import { type Book, startBook } from '../../../../support/parts/ledger.ts'

let book: Book
before(async () => {
  book = await startBook()
})
after(() => book.stop())

test('rows arrive as they were written, of any length', async () => {
  const texts = ['', 'short', 'tab\tquote"back\\slash', 'é', '漢字'.repeat(40), 'x'.repeat(5_000)]
  const integers = [0, 1, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER, -1, -(2 ** 40) - 3]
  const written = integers.map((large, i) => ({
    text: texts[i] ?? null,
    large,
    small: i - 3,
    flag: i % 2 === 0,
    bytes: Buffer.from([i, 255, 0]),
  }))
  const found = await withTransaction(book.pool, async (client) => {
    await client.query(
      'CREATE TEMPORARY TABLE copied (text text, large bigint, int integer, small smallint, flag boolean, bytes bytea) ON COMMIT DROP',
    )
    const rows = new CopyRows(6, 0)
    for (const { text, large, small, flag, bytes } of written) {
      rows.row()
      if (text === null) rows.null()
      else rows.text(text)
      rows.bigint(large)
      rows.integer(small)
      rows.smallint(small)
      rows.boolean(flag)
      rows.bytea(bytes)
    }
    await copyRows(client, 'copied', rows)
    return client.query('SELECT * FROM copied')
  })
  assert.deepEqual(
    found.rows,
    written.map(({ text, large, small, flag, bytes }) => ({ text, large, int: small, small, flag, bytes })),
  )
})

test('a rejected statement leaves the connection usable, also after an earlier failure', async () => {
  const rows = () => {
    const one = new CopyRows(1, 0)
    one.row()
    one.text('a')
    return one
  }
  await assert.rejects(
    withTransaction(book.pool, (client) => copyRows(client, 'not_there', rows())),
    { code: '42P01' },
  )
  await assert.rejects(
    withTransaction(book.pool, async (client) => {
      const failed = client.query('SELECT 1 / 0')
      const copied = copyRows(client, 'schema_migrations (name)', rows())
      await Promise.allSettled([failed, copied])
      await copied
    }),
    { code: '25P02' },
  )
  const found = await book.pool.query<{ one: number }>('SELECT 1 AS one')
  assert.equal(found.rows[0]?.one, 1)
})
