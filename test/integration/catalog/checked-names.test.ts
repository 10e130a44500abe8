// Goal: the checks of the book's columns allow exactly the names that the code knows, so that a new one needs a migration.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DATA_POLICIES } from '../../../contract/catalog/catalog.ts'
import { DIALECTS } from '../../../contract/catalog/dialects.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'

const COLUMNS = { dialect: DIALECTS, data_policy: DATA_POLICIES }

test('checks of columns allow the names of their tables', async () => {
  const pool = createPool(await freshDatabase(), limits)
  try {
    await migrate(pool)
    for (const [column, names] of Object.entries(COLUMNS)) {
      const { rows } = await pool.query<{ text: string }>(
        `SELECT pg_get_constraintdef(c.oid) AS text FROM pg_constraint c
         JOIN pg_attribute a ON a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
         WHERE c.contype = 'c' AND c.conrelid = 'providers'::regclass AND a.attname = $1`,
        [column],
      )
      const allowed = rows.flatMap(({ text }) => [...text.matchAll(/'(\w+)'/g)].map(([, name]) => name))
      assert.deepEqual(allowed.sort(), [...names].sort(), column)
    }
  } finally {
    await pool.end()
  }
})
