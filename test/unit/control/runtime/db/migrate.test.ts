// Goal: a book of the version before, which has all of its migrations, is marked as one of this schema and keeps its rows; an
// older one is refused. Method: the rows of schema_migrations as that version left them, over the schema, which was the same.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import test, { type TestContext } from 'node:test'
import { compiled } from '../../../../../control/launch/paths.ts'
import { migrate } from '../../../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../../../support/limits.ts'
import { freshDatabase } from '../../../../support/services.ts'

const MIGRATIONS = 76
const LAST = '0480_read_from_below.sql'

/** A book whose last migrations were these; the first ones have the numbers 1, 2, 3 ... */
async function bookBefore(t: TestContext, { count, last }: { count: number; last: string }): Promise<Pool> {
  const pool = createPool(await freshDatabase(), limits)
  t.after(() => pool.end())
  await migrate(pool)
  await pool.query(`INSERT INTO accounts (id) VALUES ('acct_before')`)
  await pool.query('DELETE FROM schema_migrations')
  await pool.query(
    `INSERT INTO schema_migrations (version, name, applied_at)
     SELECT CASE n WHEN $1 THEN left($2, 4)::integer ELSE n END, CASE n WHEN $1 THEN $2 ELSE n || '_earlier.sql' END, '2026-01-01'
     FROM generate_series(1, $1) AS n`,
    [count, last],
  )
  return pool
}

/** What such a book still gets; each of them may be applied twice. */
const laterMigrations = () =>
  readdirSync(compiled('control/runtime/db/schema'))
    .filter((name) => /^\d{4}_/.test(name))
    .sort()

const rowsOf = async (pool: Pool) =>
  (await pool.query('SELECT version, name, applied_at FROM schema_migrations ORDER BY version')).rows

test('a book with all earlier migrations is marked once, and nothing of it changes', async (t) => {
  const pool = await bookBefore(t, { count: MIGRATIONS, last: LAST })
  const [before, later] = [await rowsOf(pool), laterMigrations()]
  for (let start = 0; start < 2; start++) {
    assert.deepEqual(await migrate(pool), start === 0 ? later : [])
    assert.deepEqual((await rowsOf(pool)).slice(0, MIGRATIONS), [
      ...before.slice(0, -1),
      { ...before.at(-1), name: '0480_schema' },
    ])
  }
  assert.equal((await pool.query(`SELECT FROM accounts WHERE id = 'acct_before'`)).rowCount, 1)
})

for (const [name, book] of Object.entries({
  'an older book': { count: MIGRATIONS - 1, last: '0475_checkpoint_order.sql' },
  'a book that lacks a migration before the last': { count: MIGRATIONS - 1, last: LAST },
  'a book of the first migration alone': { count: 1, last: '0001_ledger.sql' },
})) {
  test(`${name} is refused, and is told what to start first`, async (t) => {
    const pool = await bookBefore(t, book)
    const before = await rowsOf(pool)
    await assert.rejects(
      migrate(pool),
      /start control of a version that has the migration 0480_read_from_below\.sql once/,
    )
    assert.deepEqual(await rowsOf(pool), before)
  })
}
