// Goal: columns are answered under the names and in the form that the code uses. Method: the SQL, and what a database makes of it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { camelColumns, msColumns, textColumns } from '../../../../../control/runtime/db/columns.ts'
import { createPool } from '../../../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../../../support/limits.ts'
import { freshDatabase } from '../../../../support/services.ts'

test('columns of several words are returned in camel case, all others unchanged', () => {
  assert.equal(
    camelColumns(`id, w.url, account_id,
      w.created_at_ms`),
    'id, w.url, account_id AS "accountId", w.created_at_ms AS "createdAtMs"',
  )
})

test('a time has the milliseconds of the Date that the driver makes of it, and an amount all of its digits', async (t) => {
  const pool = createPool(await freshDatabase({ empty: true }), limits)
  t.after(() => pool.end())
  const times = ['2026-11-26 10:00:00.123999+00', '2026-11-26 10:00:00.9995+00', '1970-01-01 00:00:00+00', null]
  const { rows } = await pool.query<{ at: Date | null; begunAtMs: number | null; netUnits: string }>(
    `SELECT begun_at AS at, ${msColumns('w.begun_at')}, ${textColumns('w.net_units')}
     FROM (SELECT begun_at, 12345678901234567890::numeric AS net_units
       FROM unnest($1::timestamptz[]) WITH ORDINALITY AS u (begun_at, n) ORDER BY n) AS w`,
    [times],
  )
  assert.equal(rows.length, times.length)
  for (const { at, begunAtMs, netUnits } of rows) {
    assert.equal(begunAtMs, at?.getTime() ?? null)
    assert.equal(netUnits, '12345678901234567890')
  }
})
